"""Preemption: whose place a pod that fits nowhere may take, and how the place is cleared for it."""
