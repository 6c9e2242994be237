"""The cluster as columns: what rules over all rows at once read."""
