"""A cluster elsewhere for a mirror to follow, served from memory by one cheap process."""
