"""The scheduling queue: which pod is tried next, and when a refused one is worth another try."""
