"""Extension points: their contracts, what a profile runs, and the scratch space of a cycle."""
