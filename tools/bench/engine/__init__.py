"""Workloads for measuring the engine: how they are read, run, timed, and checked against the row-by-row engine.

A level (`l1`, `l2`) takes a scheduler that holds a workload through all of its pods. Clocks are arguments: who measures
brings them, who only checks brings none.
"""
