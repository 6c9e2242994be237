"""Controllers of a simulated cluster: `step(now, changes)` gives effects as data, `next_due()` when to come again."""
