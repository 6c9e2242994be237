"""The past of a cluster made again from its logs: the engine at a moment, and whether the record says what it does."""
