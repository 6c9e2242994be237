"""Requests as the suite of rules makes them, and what it expects of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.requests import (
    Create,
    ObjectKey,
    Request,
)
from scheduler_core.apiserver.server import ApiServer

NOW = 1_893_456_000_700_000  # 2030-01-01T00:00:00.7Z
SECOND = 1_000_000
POD = ObjectKey("Pod", "default", "p")
CLASS = ObjectKey("PriorityClass", "", "high")
CLAIM = ObjectKey("PersistentVolumeClaim", "default", "data")
UNSCHEDULABLE = ("False", "Unschedulable", "1 node")

Manifest = dict[str, Any]


def pod(name: str = "p", *, metadata: Mapping[str, Any] = {}, **spec: Any) -> Create:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return Create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, **metadata},
            "spec": {"containers": containers, **spec},
        }
    )


def priority_class(**metadata: Any) -> Create:
    return Create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high", **metadata},
            "value": 1000,
        }
    )


def claim() -> Create:
    return Create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    )


def done(server: ApiServer, request: Request, now: int = NOW) -> Outcome:
    """The outcome of a request that is not refused."""
    (answer,) = server.carry_out([request], now)
    assert isinstance(answer, Outcome), answer
    return answer


def made(server: ApiServer, request: Request, now: int = NOW) -> Manifest:
    """The object that a request is answered with."""
    answer = done(server, request, now).answer
    assert isinstance(answer, dict)
    return answer


def refused(server: ApiServer, request: Request, now: int = NOW) -> Status:
    """Why a request is refused; it changed nothing."""
    (answer,) = server.carry_out([request], now)
    assert isinstance(answer, Refused), answer
    return answer.status


def stored(server: ApiServer, key: ObjectKey = POD) -> Manifest:
    found = server.store.get(key)
    assert found is not None
    return found
