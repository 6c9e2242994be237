"""Clusters in memory with a virtual clock, and the demo that keeps one busy."""
