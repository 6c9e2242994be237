"""What would make a pod fit: the smallest changes with which a cycle gives it a node, each tried by a cycle.

changes   what a change is, what it costs, and what the cluster is with it
tries     an engine's cycles with changes, which are undone
pod_fields, claims, nodes, evictions, quotas    what can be changed at all, and by how much
smallest  numbers and lists that are no larger than is enough
search    one change that is enough, else two
"""
