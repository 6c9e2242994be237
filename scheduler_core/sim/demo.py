"""The demo controller: does what people and chance do to a cluster, and leaves the rest to the cluster's controllers.

Jobs arrive all the time. Once in each round, at times counted from the cluster's start, a Deployment gets a new image,
a node is drained, a kubelet stands still, and Jobs come that bring something about: preemption, memory pressure.

What it does is a function of seed, tick number and state. Ticks are counted from the Unix epoch; a random draw is a
hash of seed, tick and purpose. Names are made from the tick, so a tick that runs twice creates nothing twice; what is
to be undone later stands in an annotation of the node.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.api.batch import Job as JobObject
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import time_text
from scheduler_core.api.workload import Deployment
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.annotations import RUN_SECONDS
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.drain import DRAIN, REQUESTED
from scheduler_core.controllers.node_agent import KUBELET, KUBELET_UNTIL, AgentState, agent_of, time_of
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

MAX_CATCH_UP_TICKS: Final = 10  # after a longer pause the script goes on from now

APP_LABEL: Final = "app"
OPEN_AT: Final = "kschedweb.io/demo-open-at"  # RFC 3339: when the script uncordons the node that it drained
JOB_TTL_SECONDS: Final = 120  # how long a finished Job is kept


@dataclass(frozen=True, slots=True)
class Job:
    """A Job of some pods that run for a time between the bounds and complete; `share` is how often it is chosen.

    `spec` is a pod spec, used as it is; `annotations` are those of the pods, `settings` further fields of the Job.
    """

    namespace: str
    name: str
    spec: Mapping[str, Any]
    run_seconds: tuple[int, int]
    share: int = 1
    pods: int = 1
    annotations: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A Deployment that gets its turn; its container has the same name. Images are `image` with a tag, counted up."""

    namespace: str
    name: str
    image: str


@dataclass(frozen=True, slots=True)
class Script:
    """The course of events. Times are seconds into a round, each a multiple of the tick.

    One pod arrives per tick on average, in a Job of some. No Job arrives while its pods would make more than
    `max_pods`; those of a round may come on top.
    """

    rollouts: tuple[Rollout, ...]
    jobs: tuple[Job, ...]
    of_round: tuple[tuple[int, Job], ...]  # those that come once in a round, and when
    disturbed: tuple[str, ...]  # nodes that are drained, or whose kubelet stands still
    max_pods: int
    round_seconds: int = 480
    rollout_at: int = 30
    drain_at: int = 90
    drain_seconds: int = 45
    stop_at: int = 240
    stop_seconds: int = 150
    tick_us: int = 1_000_000

    def tick_of(self, now: int) -> int:
        """Return the number of the tick in which `now` (microseconds) lies."""
        return now // self.tick_us

    def ticks_in(self, seconds: int) -> int:
        """Return how many ticks so many seconds are."""
        return seconds * 1_000_000 // self.tick_us


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """`is_free`: nobody has closed the node, and its kubelet is heard. `open_at`: when the script opens it again."""

    name: str
    uid: str
    is_free: bool = True
    open_at: int | None = None


@dataclass(frozen=True, slots=True)
class StateSummary:
    """The cluster as the script sees it. `pods`: how many are alive, or are still to come from Jobs.

    `started_at` is in microseconds; `last_tick` as `Script.tick_of` gave it.
    """

    pods: int
    nodes: Sequence[NodeSummary]
    started_at: int
    last_tick: int | None = None


class DemoController:
    """Follows a script: keeps the summary of the state up to date and ticks when it is time."""

    name, actor, group = "demo", "sample", "demo"

    def __init__(self, cluster: ClusterOptions, script: Script) -> None:
        self._script, self._seed, self._started_at = script, cluster.seed, cluster.started_at
        self._pods: set[str] = set()  # keys of pods that are alive and no Job's
        self._jobs: dict[str, int] = {}  # Jobs that are not finished by key, and how many pods they run at a time
        self._nodes: dict[str, NodeSummary] = {}
        self._last_tick: int | None = None

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what the ticks up to `now` bring."""
        for change in changes:
            if isinstance(change, ObjectDeleted):
                self._forget(change.kind, f"{change.namespace}/{change.name}")
            elif isinstance(change, ObjectPut):
                self._put(change.obj)
        if self._last_tick is not None and self._script.tick_of(now) <= self._last_tick:
            return []
        pods = len(self._pods) + sum(self._jobs.values())
        state = StateSummary(pods, list(self._nodes.values()), self._started_at, self._last_tick)
        self._last_tick = self._script.tick_of(now)
        return script_tick(self._script, self._seed, state, now)

    def next_due(self) -> int | None:
        """Return when the next tick begins; the first one is due at once."""
        return 0 if self._last_tick is None else (self._last_tick + 1) * self._script.tick_us

    def _put(self, obj: KubeObject) -> None:
        if isinstance(obj, Pod):
            if obj.is_terminal or any(owner.kind == JobObject.kind for owner in obj.metadata.owner_references or ()):
                self._pods.discard(obj.key)
            else:
                self._pods.add(obj.key)
        elif isinstance(obj, JobObject):
            if obj.finished_condition is not None:
                self._jobs.pop(obj.key, None)
            else:
                self._jobs[obj.key] = 1 if obj.spec.parallelism is None else obj.spec.parallelism
        elif isinstance(obj, Node):
            is_free = agent_of(obj).is_heard and not obj.spec.unschedulable
            open_at = time_of(obj.annotations.get(OPEN_AT, ""))
            self._nodes[obj.name] = NodeSummary(obj.name, obj.uid, is_free, open_at)

    def _forget(self, kind: str, key: str) -> None:
        if kind == Pod.kind:
            self._pods.discard(key)
        elif kind == JobObject.kind:
            self._jobs.pop(key, None)
        elif kind == Node.kind:
            self._nodes.pop(key.removeprefix("/"), None)


def script_tick(script: Script, seed: int, state: StateSummary, now: int) -> list[Request]:
    """Return what the ticks after the last one bring, up to that of `now`."""
    last = script.tick_of(now)
    first = last if state.last_tick is None else max(state.last_tick + 1, last - MAX_CATCH_UP_TICKS + 1)
    requests: list[Request] = [
        _opened(node) for node in state.nodes if node.open_at is not None and node.open_at <= now
    ]
    pods = state.pods
    for tick in range(first, last + 1):
        requests += _events(script, seed, state, tick)
        for job, name, most in _jobs(script, seed, state.started_at, tick):
            if pods + job.pods <= most:
                pods += job.pods
                requests.append(Create(job_manifest(job, name, seed)))
    return requests


def first_jobs(script: Script, seed: int, pods: int) -> list[dict[str, Any]]:
    """Return the manifests of the first Jobs, which have at least so many pods."""
    manifests: list[dict[str, Any]] = []
    while pods > 0:
        job = _chosen(script, seed, -1, len(manifests))
        manifests.append(job_manifest(job, f"{job.name}-first-{len(manifests)}", seed))
        pods -= job.pods
    return manifests


def job_manifest(job: Job, name: str, seed: int) -> dict[str, Any]:
    """Return the Job as a user would create it; its run time is drawn by its name."""
    shortest, longest = job.run_seconds
    run_seconds = shortest + draw(seed, name) % (longest - shortest + 1)
    labels = {APP_LABEL: job.name}
    template = {
        "metadata": {"labels": labels, "annotations": {RUN_SECONDS: str(run_seconds), **job.annotations}},
        "spec": {**copy.deepcopy(dict(job.spec)), "restartPolicy": "Never"},
    }
    spec = {"parallelism": job.pods, "completions": job.pods, "ttlSecondsAfterFinished": JOB_TTL_SECONDS}
    return {
        "apiVersion": JobObject.api_version,
        "kind": JobObject.kind,
        "metadata": {"namespace": job.namespace, "name": name, "labels": labels},
        "spec": {**spec, **job.settings, "template": template},
    }


def draw(seed: int, *key: object) -> int:
    """Return a number of 64 bits that follows from seed and key."""
    text = "\x00".join(map(str, (seed, *key)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _clock(script: Script, started_at: int, tick: int) -> tuple[int, int]:
    """Return the round the tick is in, and how many ticks it is into the round."""
    return divmod(max(0, tick - script.tick_of(started_at)), script.ticks_in(script.round_seconds))


def _events(script: Script, seed: int, state: StateSummary, tick: int) -> Iterator[Request]:
    """Yield what is done to a Deployment and to nodes at that tick."""
    number, place = _clock(script, state.started_at, tick)
    if place == script.ticks_in(script.rollout_at) and script.rollouts:
        turn, which = divmod(number, len(script.rollouts))
        rollout = script.rollouts[which]
        # Images begin with tag 1.
        containers = [{"name": rollout.name, "image": f"{rollout.image}:{turn + 2}"}]
        body = {"spec": {"template": {"spec": {"containers": containers}}}}
        yield Patch(ObjectKey(Deployment.kind, rollout.namespace, rollout.name), body, PatchType.STRATEGIC)
    if place == script.ticks_in(script.drain_at):
        until = time_text(_end(script, tick, script.drain_seconds))
        yield from _annotated(_disturbed(script, seed, state, tick), {DRAIN: REQUESTED, OPEN_AT: until})
    if place == script.ticks_in(script.stop_at):
        until = time_text(_end(script, tick, script.stop_seconds))
        yield from _annotated(
            _disturbed(script, seed, state, tick), {KUBELET: AgentState.STOPPED, KUBELET_UNTIL: until}
        )


def _jobs(script: Script, seed: int, started_at: int, tick: int) -> Iterator[tuple[Job, str, int]]:
    """Yield the Jobs that arrive at that tick with their names, and how many pods there may be with them."""
    _, place = _clock(script, started_at, tick)
    on_top = sum(job.pods for _, job in script.of_round)
    for at, job in script.of_round:
        if place == script.ticks_in(at):
            yield job, f"{job.name}-{tick:x}", script.max_pods + on_top
    job = _chosen(script, seed, tick, 0)
    if draw(seed, tick, "arrivals") % job.pods == 0:
        yield job, f"{job.name}-{tick:x}", script.max_pods


def _chosen(script: Script, seed: int, tick: int, place: int) -> Job:
    shares = [job for job in script.jobs for _ in range(job.share)]
    return shares[draw(seed, tick, "job", place) % len(shares)]


def _disturbed(script: Script, seed: int, state: StateSummary, tick: int) -> Sequence[NodeSummary]:
    """Return the node whose turn it is; none when all are closed or away."""
    free = [node for node in state.nodes if node.is_free and node.open_at is None and node.name in script.disturbed]
    free.sort(key=lambda node: node.name)
    return [free[draw(seed, tick, "node") % len(free)]] if free else []


def _end(script: Script, tick: int, seconds: int) -> int:
    return tick * script.tick_us + seconds * 1_000_000


def _annotated(nodes: Sequence[NodeSummary], annotations: Mapping[str, str]) -> Iterator[Request]:
    for node in nodes:
        key = ObjectKey(Node.kind, "", node.name)
        yield Patch(key, {"metadata": {"annotations": dict(annotations)}}, uid=node.uid)


def _opened(node: NodeSummary) -> Patch:
    body = {"metadata": {"annotations": {OPEN_AT: None}}, "spec": {"unschedulable": None}}
    return Patch(ObjectKey(Node.kind, "", node.name), body, uid=node.uid)
