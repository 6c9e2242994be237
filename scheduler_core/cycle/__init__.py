"""One pod's way over the nodes: filtering, scoring, and the walk; every function takes the `Cycle`."""
