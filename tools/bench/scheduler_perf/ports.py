"""What an executor needs of a cluster, whatever level it is of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

Manifest = dict[str, Any]
OnScheduled = Callable[[str, str, Mapping[str, str], int], None]
"""Told the namespace, the name and the labels of a pod that got its node, and when."""


class Pods(Protocol):
    """The pods as they were last seen."""

    on_scheduled: list[OnScheduled]

    def scheduled(self, namespace: str, labels: Mapping[str, str]) -> int:
        """How many pods of the namespace with these labels have a node."""
        ...

    def attempted(self, namespace: str, labels: Mapping[str, str]) -> int:
        """How many have been looked at, by the scheduler or by the gates that keep them out of its queue."""
        ...


class PerfCluster(Protocol):
    """A cluster that operations are carried out on. Times are microseconds of its clock."""

    @property
    def watch(self) -> Pods: ...
    @property
    def now(self) -> int: ...
    @property
    def busy_ns(self) -> int:
        """How long it has been at work."""
        ...

    def settle(self) -> None:
        """Make ready for a measurement."""
        ...

    def create(self, objects: Sequence[Manifest]) -> list[str]:
        """Create the objects, in lots; their names."""
        ...

    def update(self, kind: str, namespace: str, manifest: Manifest, subresources: Collection[str]) -> None:
        """Replace the object, or these subresources of it, and then its status."""
        ...

    def write_status(self, kind: str, namespace: str, name: str, status: Manifest) -> None:
        """Give the object this status."""
        ...

    def delete(self, kind: str, namespace: str, name: str, grace_seconds: int | None = None) -> None:
        """Delete the object; it may be gone already."""
        ...

    def objects(self, kind: str, namespace: str = "") -> list[Manifest]: ...
    def pod_names(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """The pods of the namespace that have these labels, seen by the scheduler or not."""
        ...

    def every(self, seconds: float, tick: Callable[[], bool]) -> None:
        """Let something happen at this interval from now on, until it says that it is over."""
        ...

    def run_until(self, met: Callable[[], bool], what: str, deadline: int | None = None) -> None:
        """Let the cluster go on until the condition holds; until the deadline, if there is one.

        WorkloadFailed when it never will, or not within the time upstream gives it.
        """
        ...
