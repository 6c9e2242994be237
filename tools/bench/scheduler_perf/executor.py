"""Carries out the operations of one workload, one after another, and collects throughput where they say so.

Namespaces that operations name are made when first named; pods without one get that of their operation. Operations that
go on in the background, churn and deletion at a rate, end with the workload.

Source: kubernetes v1.34.1, test/integration/scheduler_perf/scheduler_perf.go.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.cel.times import TimeError, parse_duration
from tools.bench.engine.prepare import SEED
from tools.bench.scheduler_perf import manifests, operations
from tools.bench.scheduler_perf.files import PerfWorkload
from tools.bench.scheduler_perf.operations import Barrier, CreatePods, Operation
from tools.bench.scheduler_perf.ports import Manifest, PerfCluster
from tools.bench.scheduler_perf.problems import NotSupported, WorkloadFailed
from tools.bench.scheduler_perf.templates import Template
from tools.bench.scheduler_perf.throughput import Throughput, throughput_of

ATTEMPTED: Final = "Attempted"


@dataclass(slots=True)
class _Collection:
    """Throughput being collected: pods of these namespaces with these labels, from `started` on."""

    name: str
    namespaces: frozenset[str]
    labels: Mapping[str, str]
    started: int
    busy_ns: int
    scheduled: list[int] = field(default_factory=list)

    def see(self, namespace: str, name: str, labels: Mapping[str, str], now: int) -> None:
        if namespace in self.namespaces and self.labels.items() <= labels.items():
            self.scheduled.append(now)


class Executor:
    """One run of one workload; `items` is what was collected."""

    def __init__(self, workload: PerfWorkload, cluster: PerfCluster) -> None:
        self.items: list[Throughput] = []
        self._workload = workload
        self._cluster = cluster
        self._templates: dict[str, Template] = {}
        self._namespaces: set[str] = set()
        self._waiting: dict[str, int] = {}  # pods by namespace that barriers wait for
        self._nodes = 0
        self._collection: _Collection | None = None
        self._random = random.Random(SEED)

    def run(self) -> list[Throughput]:
        """Everything; raises NotSupported and WorkloadFailed."""
        for index, operation in enumerate(self._workload.operations()):
            self._carry_out(operation, f"namespace-{index}")
        return self.items

    def _carry_out(self, operation: Operation, own: str) -> None:
        """`own` is the operation's own namespace."""
        match operation:
            case operations.CreateNodes():
                self._create_nodes(operation)
            case operations.CreateNamespaces():
                template = self._template(operation.namespace_template_path)
                for number in range(operation.count):
                    self._need(f"{operation.prefix}-{number}", template)
            case operations.CreatePods():
                self._create_pods(operation, operation.namespace or own)
            case operations.CreatePodSets():
                for number in range(operation.count):
                    self._create_pods(operation.create_pods_op, f"{operation.namespace_prefix}-{number}")
            case operations.CreateAny():
                self._create_any(operation)
            case operations.UpdateAny():
                self._update_any(operation)
            case operations.DeletePods():
                self._delete_pods(operation)
            case operations.Churn():
                self._churn(operation, operation.namespace or own)
            case operations.Barrier():
                self._wait(operation)
            case operations.Sleep():
                self._sleep(operation.duration)
            case operations.StartCollectingMetrics():
                self._start(operation.name, operation.namespaces, operation.label_selector)
            case operations.StopCollectingMetrics():
                self._stop()
            case operations.CreateResourceDriver():
                nodes = [each["metadata"]["name"] for each in self._cluster.objects("Node")]
                driver, devices = operation.driver_name, operation.max_claims_per_node
                found = [name for name in nodes if fnmatchcase(name, operation.nodes)]
                self._cluster.create([manifests.resource_slice(driver, name, devices) for name in found])
            case operations.AllocResourceClaims():
                self._allocate(operation.namespace)

    # Objects

    def _template(self, path: str) -> Template | None:
        if not path:
            return None
        if path not in self._templates:
            self._templates[path] = Template(self._workload.folder / Path(path))
        return self._templates[path]

    def _need(self, namespace: str, template: Template | None = None) -> None:
        if namespace and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            made = template.manifest() if template is not None else None
            self._cluster.create([manifests.namespace(namespace, made)])

    def _create_nodes(self, operation: operations.CreateNodes) -> None:
        template = self._template(operation.node_template_path)
        labels, more = operation.label_node_prepare_strategy, operation.node_allocatable_strategy
        made: list[Manifest] = []
        for index in range(operation.count):
            base = template.manifest(index, operation.count) if template is not None else manifests.DEFAULT_NODE
            node = manifests.node(base, self._nodes + index, labels, more)
            made.append(node)
            if more is not None and more.csi_node_allocatable:
                made.append(manifests.csi_node(node["metadata"]["name"], more))
        self._nodes += operation.count
        self._cluster.create(made)

    def _create_any(self, operation: operations.CreateAny) -> None:
        template = self._template(operation.template_path)
        assert template is not None  # the field has to be there
        self._need(operation.namespace)
        made = [template.manifest(index, operation.count) for index in range(operation.count)]
        self._cluster.create([_placed(each, operation.namespace) for each in made])

    def _update_any(self, operation: operations.UpdateAny) -> None:
        template = self._template(operation.template_path)
        assert template is not None  # the field has to be there
        self._need(operation.namespace)
        left = deque(range(operation.count))

        def update() -> bool:
            made = template.manifest(left.popleft(), operation.count)
            kind = made["kind"]
            namespace = operation.namespace if KINDS[kind].namespaced else ""
            self._cluster.update(kind, namespace, _placed(made, namespace), operation.subresources)
            return not left

        self._paced(update, left, operation.update_per_second, waits=True)

    def _delete_pods(self, operation: operations.DeletePods) -> None:
        left = deque(self._cluster.pod_names(operation.namespace, operation.label_selector))

        def delete() -> bool:
            self._cluster.delete("Pod", operation.namespace, left.popleft())
            return not left

        self._paced(delete, left, operation.delete_pods_per_second, waits=not operation.skip_wait_to_completion)

    def _paced(self, act: Callable[[], bool], left: deque[Any], per_second: int, *, waits: bool) -> None:
        """Do it for everything that is left: at once, or at a rate, in the background unless the operation waits."""
        if not left:
            return
        if not per_second:
            while not act():
                pass
            return
        self._cluster.every(1 / per_second, act)
        if waits:
            self._cluster.run_until(lambda: not left, "objects to be written")

    def _churn(self, operation: operations.Churn, namespace: str) -> None:
        self._need(namespace)
        made = [self._template(path) for path in operation.template_paths]
        objects = [_placed(each.manifest(), namespace) for each in made if each is not None]
        rounds = 0

        def create() -> bool:
            nonlocal rounds
            rounds += 1
            self._cluster.create(objects)
            return bool(operation.number) and rounds >= operation.number

        # Each object has `number` places; a round makes what is missing in its place, or takes away what is there.
        if operation.mode == "recreate" and operation.number < 1:
            raise NotSupported("operation churn: recreate without a number")
        names: list[list[str]] = [[""] * operation.number for _ in objects]

        def recreate() -> bool:
            nonlocal rounds
            place = rounds % operation.number
            rounds += 1
            for held, manifest in zip(names, objects, strict=True):
                if held[place]:
                    self._cluster.delete(manifest["kind"], manifest["metadata"].get("namespace", ""), held[place])
                    held[place] = ""
                else:
                    held[place] = self._cluster.create([manifest])[0]
            return False

        act = create if operation.mode == "create" else recreate
        self._cluster.every((operation.interval_milliseconds or 500) / 1000, act)

    def _allocate(self, namespace: str) -> None:
        """Give each claim that has none a free device, of nodes in random order."""
        claims = self._cluster.objects("ResourceClaim", namespace)
        given = [each["status"]["allocation"] for each in claims if (each.get("status") or {}).get("allocation")]
        taken = {(one["driver"], one["pool"], one["device"]) for each in given for one in each["devices"]["results"]}
        devices = list(manifests.devices_in(self._cluster.objects("ResourceSlice")))
        free = [device for device in devices if device[1:] not in taken]
        self._random.shuffle(free)
        open_claims = [each for each in claims if not (each.get("status") or {}).get("allocation")]
        if len(free) < len(open_claims):
            raise WorkloadFailed(f"{len(open_claims)} claims to allocate, {len(free)} devices")
        for claim, device in zip(open_claims, free, strict=False):
            status = {**(claim.get("status") or {}), "allocation": manifests.allocation(claim, *device)}
            self._cluster.write_status("ResourceClaim", namespace, claim["metadata"]["name"], status)

    # Pods

    def _create_pods(self, operation: CreatePods, namespace: str) -> None:
        self._need(namespace)
        if operation.collect_metrics:
            self._start(namespace, (namespace,), {})
        if operation.steady_state:
            self._create_steadily(operation, namespace)
        else:
            self._cluster.create(self._pods(operation, namespace, operation.count))
        if operation.skip_wait_to_completion:
            self._waiting[namespace] = self._waiting.get(namespace, 0) + operation.count
        elif not operation.steady_state:
            self._wait_for(namespace, operation.count, {}, self._cluster.watch.scheduled, "scheduled")
        if operation.collect_metrics:
            self._stop()

    def _pods(self, operation: CreatePods, namespace: str, count: int) -> list[Manifest]:
        """New pods of an operation, after their volumes, which are created."""
        template = self._template(operation.pod_template_path or self._workload.default_pod_template)
        volume = self._template(operation.persistent_volume_template_path)
        claim = self._template(operation.persistent_volume_claim_template_path)
        made = [template.manifest(index, count) if template else manifests.DEFAULT_POD for index in range(count)]
        if volume is None or claim is None:
            if volume is not claim:
                raise NotSupported("operation createPods: a volume without a claim, or a claim without a volume")
            return [manifests.pod(each, namespace) for each in made]
        bound = [
            manifests.bound_volume(volume.manifest(), claim.manifest(), namespace, index) for index in range(count)
        ]
        self._cluster.create([each for _, each in bound])
        self._cluster.create([each for each, _ in bound])
        for a_volume, a_claim in bound:
            of_claim = {"phase": "Bound", "accessModes": a_claim["spec"]["accessModes"]}
            self._cluster.write_status("PersistentVolume", "", a_volume["metadata"]["name"], {"phase": "Bound"})
            self._cluster.write_status("PersistentVolumeClaim", namespace, a_claim["metadata"]["name"], of_claim)
        return [manifests.pod(each, namespace, f"pvc-{index}") for index, each in enumerate(made)]

    def _create_steadily(self, operation: CreatePods, namespace: str) -> None:
        """Keep so many pods waiting for a time: each one that is scheduled is deleted, and a new one made."""
        cluster = self._cluster
        scheduled: list[str] = []

        def see(where: str, name: str, labels: Mapping[str, str], now: int) -> None:
            if where == namespace:
                scheduled.append(name)

        total = 0
        end = cluster.now + _microseconds(operation.duration)
        cluster.watch.on_scheduled.append(see)
        cluster.create(self._pods(operation, namespace, operation.count))
        while cluster.now < end:
            cluster.run_until(lambda: bool(scheduled), "pods to be scheduled", end)
            total += len(scheduled)
            for name in scheduled:
                cluster.delete("Pod", namespace, name, 0)
            if scheduled and cluster.now < end:
                cluster.create(self._pods(operation, namespace, len(scheduled)))
            scheduled.clear()
        cluster.watch.on_scheduled.remove(see)
        if not total:
            raise WorkloadFailed(f"no pod was scheduled within {operation.duration}")

    # Waiting and collecting

    def _wait(self, operation: Barrier) -> None:
        counted, word = (
            (self._cluster.watch.attempted, "attempted")
            if operation.stage_requirement == ATTEMPTED
            else (self._cluster.watch.scheduled, "scheduled")
        )
        for namespace in operation.namespaces or tuple(self._waiting):
            self._wait_for(namespace, self._waiting.get(namespace, 0), operation.label_selector, counted, word)
        if operation.stage_requirement != ATTEMPTED:
            for namespace in operation.namespaces or tuple(self._waiting):
                self._waiting.pop(namespace, None)

    def _wait_for(
        self,
        namespace: str,
        number: int,
        labels: Mapping[str, str],
        counted: Callable[[str, Mapping[str, str]], int],
        word: str,
    ) -> None:
        what = f"{number} pods of {namespace} to be {word}"
        try:
            self._cluster.run_until(lambda: counted(namespace, labels) >= number, what)
        except WorkloadFailed as problem:
            raise WorkloadFailed(f"{problem}; there are {counted(namespace, labels)}") from problem

    def _sleep(self, duration: str) -> None:
        end = self._cluster.now + _microseconds(duration)
        self._cluster.run_until(lambda: False, f"sleep of {duration}", end)

    def _start(self, name: str, namespaces: Sequence[str], labels: Mapping[str, str]) -> None:
        if self._collection is not None:
            raise NotSupported("two collections at once")
        self._cluster.settle()
        collection = _Collection(name, frozenset(namespaces), labels, self._cluster.now, self._cluster.busy_ns)
        self._cluster.watch.on_scheduled.append(collection.see)
        self._collection = collection

    def _stop(self) -> None:
        collection, self._collection = self._collection, None
        if collection is None:
            raise NotSupported("a collection is stopped that was not started")
        self._cluster.watch.on_scheduled.remove(collection.see)
        busy_seconds = (self._cluster.busy_ns - collection.busy_ns) / 1e9
        now = self._cluster.now
        self.items.append(throughput_of(collection.name, collection.started, now, busy_seconds, collection.scheduled))


def _placed(manifest: Manifest, namespace: str) -> Manifest:
    """The object in the namespace, if its kind has any."""
    kind = KINDS.get(manifest.get("kind", ""))
    if kind is None:
        raise NotSupported(f"objects of kind {manifest.get('kind')}")
    if not namespace or not kind.namespaced:
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _microseconds(duration: str) -> int:
    try:
        return parse_duration(duration).nanos // 1000
    except TimeError as error:
        raise NotSupported(f"the duration {duration!r}") from error
