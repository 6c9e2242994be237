"""Pods, and totals of a cached node."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from tests.builders import make_pod


def pod(name: str = "p", node: str = "n", **requests: str) -> Pod:
    return make_pod(name, uid="uid-" + name).req(**(requests or {"cpu": "1"})).on(node).build()
