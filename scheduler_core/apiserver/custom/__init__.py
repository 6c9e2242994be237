"""Kinds that a cluster defines: their definitions, and what may be done with their objects."""
