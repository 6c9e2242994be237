"""Volumes of a pod: which nodes they can be reached from, bound or made at, and the binding itself."""
