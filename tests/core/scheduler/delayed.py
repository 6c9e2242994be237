"""A recorded control plane: changes at their times, a scheduler that hears of each kind late, and a mirror of both.

The other scheduler is an ordinary engine. What it binds becomes a change too; the mirror takes all as they come. A
third engine has the mirror's configuration and hears what the other scheduler hears: where it differs, rules do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from scheduler_core import config
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import BindingVerdict, Change, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Comparison
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.comparing import AGREED, TIED
from scheduler_core.scheduler.engine import Observer
from tests.core.scheduler.harness import MANY, NO_CYCLES, START

TICK_MS = 10
BINDS_MS = 20


@dataclass
class Recorded:
    """`delays`: by kind, how many milliseconds late the other scheduler hears of a change, and `jitter_ms` more at
    most; `own_delays`: the mirror. A binding takes `BINDS_MS`, and `binds_jitter_ms` more at most."""

    delays: Mapping[str, int]
    scheduler_config: str = ""
    own_delays: Mapping[str, int] = field(default_factory=dict)
    jitter_ms: int = 0
    binds_jitter_ms: int = 0
    seed: int = 0
    observer: Observer = field(default_factory=Observer)
    comparisons: list[Comparison] = field(default_factory=list)
    affected: list[str] = field(default_factory=list)  # pods that the mirror's rules give another node
    there: dict[tuple[str, str], KubeObject] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = config.load_stored(self.scheduler_config) if self.scheduler_config else None
        self.other = build(given, draws=FirstDraws())
        self.mirror = build(None, draws=FirstDraws(), observer=self.observer)
        self.truth = build(None, draws=FirstDraws(), observer=Observer())
        self._draws = Random(self.seed)
        self._last: dict[str, int] = {}  # by kind, when the newest change is heard of
        self._world: dict[int, list[Change]] = {}  # by time
        self._heard: dict[int, list[Change]] = {}  # by the other scheduler
        self._mirrored: dict[int, list[Change]] = {}

    def at(self, ms: int, *objects: KubeObject) -> None:
        """Objects come, or change."""
        self._world.setdefault(ms, []).extend(ObjectPut(each) for each in objects)

    def gone_at(self, ms: int, kind: str, namespace: str, name: str) -> None:
        self._world.setdefault(ms, []).append(ObjectDeleted(kind, namespace, name, ""))

    def play(self, until_ms: int) -> Sequence[Comparison]:
        """All comparisons so far, in order."""
        for ms in range(0, until_ms, TICK_MS):
            changes = self._world.get(ms, [])
            for each in changes:
                self._remember(each)
                self._heard.setdefault(self._heard_at(ms, each), []).append(each)
                self._mirrored.setdefault(ms + self.own_delays.get(_kind(each), 0), []).append(each)
            now = START + ms * 1000
            self.comparisons += self.mirror.step(now, self._mirrored.pop(ms, []), NO_CYCLES).comparisons
            heard = self._heard.pop(ms, [])
            self._compare(now, [each for each in heard if not isinstance(each, BindingVerdict)])
            effects = self.other.step(now, heard, MANY)
            for binding in effects.bindings:
                pod = self.there.get((Pod.kind, f"{binding.namespace}/{binding.name}"))
                bound = isinstance(pod, Pod)
                after = ms + BINDS_MS + self._jitter(self.binds_jitter_ms)
                if isinstance(pod, Pod):
                    self.at(after, pod.on_node(binding.node_name))
                    self._compare(now, [ObjectPut(pod.on_node(binding.node_name))])
                verdict = BindingVerdict(binding.pod_uid, binding.node_name, bound=bound)
                self._heard.setdefault(after, []).append(verdict)
        return self.comparisons

    def _compare(self, now: int, changes: Sequence[Change]) -> None:
        told = self.truth.step(now, changes, NO_CYCLES).comparisons
        self.affected += [each.pod_key for each in told if each.outcome not in (AGREED, TIED)]

    def _heard_at(self, ms: int, change: Change) -> int:
        kind = _kind(change)
        at = ms + self.delays.get(kind, 0) + self._jitter(self.jitter_ms)
        self._last[kind] = max(at, self._last.get(kind, 0))
        return self._last[kind]

    def _jitter(self, most_ms: int) -> int:
        return TICK_MS * self._draws.randint(0, most_ms // TICK_MS)

    def _remember(self, change: Change) -> None:
        if isinstance(change, ObjectPut):
            self.there[change.obj.kind, change.obj.key] = change.obj
        elif isinstance(change, ObjectDeleted):
            self.there.pop((change.kind, f"{change.namespace}/{change.name}"), None)


def _kind(change: Change) -> str:
    return change.obj.kind if isinstance(change, ObjectPut) else getattr(change, "kind", "")
