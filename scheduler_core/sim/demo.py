"""The demo controller: follows a script of services, arriving jobs, rollouts, drains and bursts.

What it does is a function of seed, tick number and state. Ticks are counted from the Unix epoch; a random draw is a
hash of seed, tick and purpose. What was done before shows in the state (revisions, cordons, names). Names of new pods
are made from the tick, so a tick that runs twice creates nothing twice. The times of a round are counted from the
cluster's start: each round has one rollout, one drain, one burst.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.annotations import RUN_SECONDS
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

ROUNDS_REMEMBERED: Final = 5  # a new controller uncordons the drain targets of so many rounds
MAX_CATCH_UP_TICKS: Final = 6  # after a longer pause the script goes on from now

APP_LABEL: Final = "app"
REVISION_LABEL: Final = "revision"

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Service:
    """Pods that are kept at a number. `spec` is a pod spec, used as it is."""

    namespace: str
    name: str
    replicas: int
    spec: Mapping[str, Any]
    rolled_out: bool = False  # takes its turn in the rollouts
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A pod that runs for a time between the bounds and completes; `share` is how often it is chosen."""

    namespace: str
    name: str
    spec: Mapping[str, Any]
    run_seconds: tuple[int, int]
    share: int = 1


@dataclass(frozen=True, slots=True)
class Script:
    """The course of events. Times are seconds into a round. One job arrives per tick on average."""

    services: tuple[Service, ...]
    jobs: tuple[Job, ...]
    burst: Job
    max_pods: int  # no job arrives while so many pods are alive; a burst may add its own on top, once
    round_seconds: int = 240
    rollout_at: int = 60
    drain_at: int = 120
    drain_seconds: int = 40
    burst_at: int = 180
    burst_seconds: int = 5
    burst_per_tick: int = 3
    tick_us: int = 500_000

    def tick_of(self, now: int) -> int:
        """Return the number of the tick in which `now` (microseconds) lies."""
        return now // self.tick_us


@dataclass(frozen=True, slots=True)
class PodSummary:
    """A pod that is not over. `app` and `revision` are its labels of these names; empty where it has none."""

    namespace: str
    name: str
    uid: str
    app: str
    revision: str
    node_name: str
    deleting: bool


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """`cordoned_by_script`: the script closed it, not somebody else."""

    name: str
    unschedulable: bool
    cordoned_by_script: bool = False


@dataclass(frozen=True, slots=True)
class StateSummary:
    """The cluster as the script sees it. `started_at` in microseconds; `last_tick` as `Script.tick_of` gave it."""

    pods: Sequence[PodSummary]
    nodes: Sequence[NodeSummary]
    started_at: int
    last_tick: int | None = None


class DemoController:
    """Follows a script: keeps the summary of the state up to date and ticks when it is time."""

    name, actor, group = "demo", "sample", "demo"

    def __init__(self, cluster: ClusterOptions, script: Script) -> None:
        self._script, self._seed, self._started_at = script, cluster.seed, cluster.started_at
        self._pods: dict[str, PodSummary] = {}  # by key
        self._nodes: dict[str, NodeSummary] = {}
        self._closed: set[str] = set()  # nodes the script has closed
        self._last_tick: int | None = None

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what the ticks up to `now` bring."""
        for change in changes:
            if isinstance(change, ObjectDeleted):
                if change.kind == Pod.kind:
                    self._pods.pop(f"{change.namespace}/{change.name}", None)
                elif change.kind == Node.kind:
                    self._nodes.pop(change.name, None)
            elif isinstance(change, ObjectPut):
                self._put(change.obj)
        if self._last_tick is None:
            self._closed = self._closed_before(now)
        elif self._script.tick_of(now) <= self._last_tick:
            return []
        nodes = [replace(node, cordoned_by_script=node.name in self._closed) for node in self._nodes.values()]
        state = StateSummary(list(self._pods.values()), nodes, self._started_at, self._last_tick)
        self._last_tick = self._script.tick_of(now)
        requests = script_tick(self._script, self._seed, state, now)
        for request in requests:
            if isinstance(request, Patch):
                (self._closed.add if request == _cordon(request.key.name) else self._closed.discard)(request.key.name)
        return requests

    def next_due(self) -> int | None:
        """Return when the next tick begins; the first one is due at once."""
        return 0 if self._last_tick is None else (self._last_tick + 1) * self._script.tick_us

    def _put(self, obj: KubeObject) -> None:
        if isinstance(obj, Pod):
            if obj.is_terminal:
                self._pods.pop(obj.key, None)
                return
            app, revision = obj.labels.get(APP_LABEL, ""), obj.labels.get(REVISION_LABEL, "")
            self._pods[obj.key] = PodSummary(
                obj.namespace, obj.name, obj.uid, app, revision, obj.spec.node_name, obj.is_terminating
            )
        elif isinstance(obj, Node):
            self._nodes[obj.name] = NodeSummary(obj.name, obj.spec.unschedulable)

    def _closed_before(self, now: int) -> set[str]:
        """Return the nodes that a controller before this one most likely left closed: targets of the last drains."""
        this_round = _clock(self._script, self._started_at, self._script.tick_of(now))[0]
        rounds = range(max(0, this_round - ROUNDS_REMEMBERED), this_round + 1)
        targets = {_drain_target(self._seed, list(self._nodes), drain) for drain in rounds}
        return {node.name for node in self._nodes.values() if node.unschedulable and node.name in targets}


def script_tick(script: Script, seed: int, state: StateSummary, now: int) -> list[Request]:
    """Return what the ticks after the last one bring, up to that of `now`."""
    tick = script.tick_of(now)
    first = tick if state.last_tick is None else max(state.last_tick + 1, tick - MAX_CATCH_UP_TICKS + 1)
    return _Ticks(script, seed, state, range(first, tick + 1)).requests() if first <= tick else []


def first_wave(script: Script, seed: int, size: int) -> list[dict[str, Any]]:
    """Return the manifests of the first pods: every service at its size, the rest jobs."""
    pods = [
        _service_manifest(service, "v1", _suffix(seed, service.name, place))
        for service in script.services
        for place in range(service.replicas)
    ]
    for place in range(size - len(pods)):
        job = _chosen_job(script, seed, -1, place)
        pods.append(_job_manifest(job, f"{job.name}-first-{place}", _run_seconds(job, seed, -1, place)))
    # Mixed, so that all kinds come early.
    return sorted(pods, key=lambda pod: _draw(seed, -1, pod["metadata"]["name"]))


def pod_manifest(
    namespace: str, app: str, suffix: str, spec: Mapping[str, Any], revision: str = "", **annotations: str
) -> dict[str, Any]:
    """Return a pod as a user would create it: no uid, no status."""
    labels = {APP_LABEL: app} | ({REVISION_LABEL: revision} if revision else {})
    metadata: dict[str, Any] = {"namespace": namespace, "name": f"{app}-{suffix}", "labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copy.deepcopy(dict(spec))}


class _Ticks:
    """Work out the requests of some ticks over one state."""

    def __init__(self, script: Script, seed: int, state: StateSummary, ticks: range) -> None:
        self._script, self._seed, self._state, self._ticks = script, seed, state, ticks
        self._tick = ticks[-1]
        self._round, self._second = _clock(script, state.started_at, self._tick)
        self._leaving: set[str] = set()  # uids of pods this call deletes
        self._alive = len(state.pods)
        self._by_app: dict[tuple[str, str], list[PodSummary]] = {}
        for pod in state.pods:
            self._by_app.setdefault((pod.namespace, pod.app), []).append(pod)
        self._requests: list[Request] = []

    def requests(self) -> list[Request]:
        self._drain()
        for index, service in enumerate(self._rolled_out()):
            self._roll_out(service, self._revision(index))
        revisions = {service.name: self._revision(i) for i, service in enumerate(self._rolled_out())}
        for service in self._script.services:
            self._fill_up(service, revisions.get(service.name, "v1"))
        self._burst()
        self._arrivals()
        return self._requests

    def _drain(self) -> None:
        """Cordon this round's node, empty it pod by pod, uncordon it; also one that a longer pause left cordoned."""
        script, nodes = self._script, self._state.nodes
        draining = script.drain_at <= self._second < script.drain_at + script.drain_seconds
        target = _drain_target(self._seed, [node.name for node in nodes], self._round) if draining else ""
        for node in nodes:
            if node.name == target and node.unschedulable and not node.cordoned_by_script:
                target = ""  # somebody else closed it: left to them
            elif node.name == target and not node.unschedulable:
                self._requests.append(_cordon(node.name))
            elif node.name != target and node.unschedulable and node.cordoned_by_script:
                self._requests.append(_uncordon(node.name))
        on_target = [pod for pod in self._state.pods if target and pod.node_name == target and not pod.deleting]
        jobs = {job.name: job for job in self._script.jobs}
        for place, pod in enumerate(on_target[: len(self._ticks)]):
            self._delete(pod)
            if pod.app in jobs:  # services make up for theirs by themselves
                self._create_job(jobs[pod.app], f"d{place}", self._tick)

    def _rolled_out(self) -> list[Service]:
        return [service for service in self._script.services if service.rolled_out]

    def _revision(self, index: int) -> str:
        """Return the revision the service with that turn should have by now."""
        rounds = self._round + (1 if self._second >= self._script.rollout_at else 0)
        turns = len(self._rolled_out())
        return f"v{1 + (rounds + turns - 1 - index) // turns}"

    def _roll_out(self, service: Service, revision: str) -> None:
        """Replace one pod of another revision per call, and only while every new one has found its node."""
        pods = [pod for pod in self._of(service) if pod.revision and not pod.deleting]
        old = sorted((pod for pod in pods if pod.revision != revision), key=lambda pod: pod.name)
        waiting = any(pod.revision == revision and not pod.node_name for pod in pods)
        if old and not waiting and len(pods) >= service.replicas:
            self._delete(old[0])

    def _fill_up(self, service: Service, revision: str) -> None:
        there = [pod for pod in self._of(service) if not pod.deleting and pod.uid not in self._leaving]
        for place in range(service.replicas - len(there)):
            self._create(_service_manifest(service, revision, _suffix(self._seed, service.name, self._tick, place)))

    def _burst(self) -> None:
        """Create high-priority pods all at once, even when the cluster has no room for jobs."""
        script = self._script
        most = script.max_pods + script.burst_per_tick * script.burst_seconds * 1_000_000 // script.tick_us
        for tick in self._ticks:
            _, second = _clock(script, self._state.started_at, tick)
            if script.burst_at <= second < script.burst_at + script.burst_seconds:
                for place in range(min(script.burst_per_tick, max(0, most - self._alive))):
                    self._create_job(script.burst, f"b{place}", tick)

    def _arrivals(self) -> None:
        """Create a job per tick on average: none, one, one or two."""
        for tick in self._ticks:
            for place in range((0, 1, 1, 2)[_draw(self._seed, tick, "arrivals") % 4]):
                if self._alive < self._script.max_pods:
                    self._create_job(_chosen_job(self._script, self._seed, tick, place), str(place), tick)

    def _create_job(self, job: Job, suffix: str, tick: int) -> None:
        name = f"{job.name}-{tick:x}-{suffix}"
        self._create(_job_manifest(job, name, _run_seconds(job, self._seed, tick, suffix)))

    def _create(self, manifest: dict[str, Any]) -> None:
        self._alive += 1
        self._requests.append(Create(manifest))

    def _delete(self, pod: PodSummary) -> None:
        if pod.uid not in self._leaving:
            self._leaving.add(pod.uid)
            self._requests.append(Delete(ObjectKey(Pod.kind, pod.namespace, pod.name), uid=pod.uid))

    def _of(self, service: Service) -> list[PodSummary]:
        return self._by_app.get((service.namespace, service.name), [])


def _cordon(node_name: str) -> Patch:
    return Patch(ObjectKey(Node.kind, "", node_name), {"spec": {"unschedulable": True}})


def _uncordon(node_name: str) -> Patch:
    return Patch(ObjectKey(Node.kind, "", node_name), {"spec": {"unschedulable": None}})


def _clock(script: Script, started_at: int, tick: int) -> tuple[int, int]:
    """Return the round the tick is in, and how many seconds into it."""
    elapsed = max(0, tick - script.tick_of(started_at)) * script.tick_us // 1_000_000
    return divmod(elapsed, script.round_seconds)


def _drain_target(seed: int, node_names: list[str], drained_round: int) -> str:
    """Return the node to drain in that round; empty without nodes."""
    return sorted(node_names)[_draw(seed, drained_round, "drain") % len(node_names)] if node_names else ""


def _chosen_job(script: Script, seed: int, tick: int, place: int) -> Job:
    shares = [job for job in script.jobs for _ in range(job.share)]
    return shares[_draw(seed, tick, f"job {place}") % len(shares)]


def _run_seconds(job: Job, seed: int, tick: int, place: int | str) -> int:
    shortest, longest = job.run_seconds
    return shortest + _draw(seed, tick, f"{job.name} run {place}") % (longest - shortest + 1)


def _service_manifest(service: Service, revision: str, suffix: str) -> dict[str, Any]:
    name = f"{revision}-{suffix}"
    return pod_manifest(service.namespace, service.name, name, service.spec, revision, **service.annotations)


def _job_manifest(job: Job, name: str, run_seconds: int) -> dict[str, Any]:
    suffix = name.removeprefix(f"{job.name}-")
    return pod_manifest(job.namespace, job.name, suffix, job.spec, **{RUN_SECONDS: str(run_seconds)})


def _suffix(seed: int, *key: object) -> str:
    """Return five letters as ReplicaSets use them."""
    number = _draw(seed, 0, " ".join(map(str, key)))
    letters = ""
    for _ in range(5):
        number, letter = divmod(number, len(_SUFFIX_LETTERS))
        letters += _SUFFIX_LETTERS[letter]
    return letters


def _draw(seed: int, tick: int, purpose: str) -> int:
    digest = hashlib.blake2b(f"{seed}\x00{tick}\x00{purpose}".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big")
