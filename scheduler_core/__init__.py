"""A kube-scheduler as a state machine: no clock, no thread, no socket, no web.

`build.py` puts the parts together; `scheduler/scheduler.py` is the whole interface:
`step(now, changes, budget) -> Effects` and `next_due() -> time | None`.
"""
