"""Controllers of the kinds that own pods: replicas, rollouts, a pod for each node, and what they have in common."""
