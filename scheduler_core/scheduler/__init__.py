"""The engine: changes in, one pod after the other through its cycles, effects out."""
