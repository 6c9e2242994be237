"""What the plugins of one profile may use of the engine they run in.

The snapshot is only valid inside a scheduling cycle. What a plugin asks for leaves with the step's effects.
Source: kubernetes v1.34.1, pkg/scheduler/framework/interface.go (Handle).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.framework.extenders import Extenders
from scheduler_core.framework.handle import NominatedPods
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.waiting_pods import WaitingPods
from scheduler_core.model.effects import Effects
from scheduler_core.ports import Draws
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.store import ObjectStore


class EngineHandle:
    """Plugins get it before the engine stands, and use it once it does."""

    def attach(self, engine: Engine, framework: Framework) -> None:
        self._engine = engine
        self.runner = framework

    @property
    def snapshot(self) -> Snapshot:
        return self._engine.snapshot

    @property
    def lister(self) -> ObjectStore:
        return self._engine.store

    @property
    def now(self) -> int:
        """The time of the step, in microseconds."""
        return self._engine.now

    @property
    def effects(self) -> Effects:
        """What this step asks for so far."""
        return self._engine.effects

    @property
    def nominated_pods(self) -> NominatedPods:
        return self._engine.queue

    @property
    def waiting_pods(self) -> WaitingPods:
        return self._engine.waiting_pods

    @property
    def extenders(self) -> Extenders:
        return self._engine.extenders

    @property
    def draws(self) -> Draws:
        return self._engine.draws

    @property
    def shared(self) -> dict[str, Any]:
        return self._engine.shared

    @property
    def observes(self) -> bool:
        return self._engine.observer is not None

    def activate(self, pod_keys: Iterable[str]) -> None:
        """Bring pods to the active queue whatever their backoff."""
        self._engine.activate(pod_keys)
