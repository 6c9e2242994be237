"""The scheduler's cache of assigned and assumed pods per node, and the snapshot each cycle reads."""
