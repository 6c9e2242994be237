"""Otter Post in memory, and what happened there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.requests import Create, Patch, Request
from scheduler_core.apiserver.store import key_of
from scheduler_core.build import build
from scheduler_core.config.types import KubeSchedulerConfiguration
from scheduler_core.controllers.controller import ClusterOptions, Controller
from scheduler_core.controllers.registry import controllers_of
from scheduler_core.model.changes import Change
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.ports import SeededDraws
from scheduler_core.sim.demo import DemoController, Script
from scheduler_core.sim.otter_post import manifests, sample_options
from scheduler_core.sim.otter_post.script import SCRIPT
from scheduler_core.sim.world import World

SECOND = 1_000_000
SEED = 20
START = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * SECOND
Manifest = dict[str, Any]


class Recorded:
    """A controller that writes down its requests with their time."""

    def __init__(self, controller: Controller, log: list[tuple[int, Request]]) -> None:
        self.name, self.actor, self.next_due = controller.name, controller.actor, controller.next_due
        self.answered = getattr(controller, "answered", None)
        self._controller, self._log = controller, log

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        requests = self._controller.step(now, changes)
        self._log += [(now, request) for request in requests]
        return requests


class Story:
    """Otter Post from its start, and what happened."""

    def __init__(self, script: Script = SCRIPT, config: KubeSchedulerConfiguration | None = None) -> None:
        self.log: list[tuple[int, Request]] = []  # of the controllers
        self.messages: dict[str, str] = {}  # last message of pods that were not scheduled
        self.preemptions: list[Attempt] = []
        self.evicted: dict[str, int] = {}  # keys of victims, and when they were asked to go
        cluster = sample_options(ClusterOptions(seed=SEED, started_at=START))
        controllers = [*controllers_of(cluster), DemoController(cluster, script)]
        self.world = World(
            build(config, draws=SeededDraws(1)),
            [Recorded(each, self.log) for each in controllers],
            now=START,
            watch=self._watch,
        )
        created = self.world.request(*map(Create, manifests(SEED)))
        assert not [answer for answer in created if isinstance(answer, Refused)]

    def _watch(self, effects: Effects) -> None:
        for attempt in effects.attempts:
            if attempt.result == "scheduled":
                self.messages.pop(attempt.pod_key, None)
            else:
                self.messages[attempt.pod_key] = attempt.message
            preemption = attempt.post_filter.preemption if attempt.post_filter is not None else None
            if preemption is not None and preemption.chosen:
                self.preemptions.append(attempt)
        for eviction in effects.evictions:
            self.evicted[f"{eviction.namespace}/{eviction.name}"] = self.world.now

    def of_kind(self, kind: str) -> dict[str, Manifest]:
        """The objects by key."""
        found = {key_of(manifest): manifest for manifest in self.world.store.list(kind)}
        return {f"{key.namespace}/{key.name}".strip("/"): manifest for key, manifest in found.items()}

    @property
    def pods(self) -> list[Manifest]:
        return list(self.world.store.list("Pod"))

    @property
    def alive(self) -> list[Manifest]:
        return [pod for pod in self.pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]


def key(obj: Manifest) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def app_label(obj: Manifest) -> str:
    return str(obj["metadata"]["labels"]["app"])


def annotations(obj: Manifest) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def node_of(pod: Manifest) -> str:
    """The pod's node; empty while it has none."""
    return str(pod["spec"].get("nodeName", ""))


def conditions(obj: Manifest) -> dict[str, str]:
    """The conditions by type."""
    return {each["type"]: each["status"] for each in obj["status"].get("conditions", ())}


def app_of(request: Request) -> str:
    """The app whose pod is created; empty for other requests."""
    if not isinstance(request, Create) or request.manifest["kind"] != "Pod":
        return ""
    return str(request.manifest["metadata"]["labels"]["app"])


def patched(request: Request, kind: str) -> dict[str, Any]:
    """The body of a patch of such an object; empty for other requests."""
    is_such = isinstance(request, Patch) and request.key.kind == kind
    return cast(dict[str, Any], request.body) if is_such else {}
