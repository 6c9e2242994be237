"""Objects of kinds that a cluster defines: pruned, defaulted and checked by the schema of their definition."""
