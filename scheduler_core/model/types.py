"""Resources added up, pods with what is computed once per pod, queue entries, and why nothing fitted.

Units: `milli_cpu` thousandths of a core; memory, ephemeral storage bytes; scalars whole units.
Source: kubernetes v1.34.1, pkg/scheduler/framework/types.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api import resources
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import NO_TERMS, AffinityTerms, affinity_terms
from scheduler_core.api.signature import Signature, signature
from scheduler_core.lru import LruDict
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.status import Code, Status

_MAX_KNOWN_PODS: Final = 16_384
_FIELDS: Final = {"cpu": "milli_cpu", "memory": "memory", "ephemeral-storage": "ephemeral_storage"}
_LONGEST_KNOWN: Final = 8_192  # bytes of a signature; larger pods are worked out each time


@dataclass(slots=True)
class Resource:
    """A running total. `scalar` keeps an explicit zero: upstream tells it from an absent entry."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    allowed_pod_number: int = 0
    scalar: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(quantities: ResourceList) -> Resource:
        """Integer view of a resource list, each value rounded up; names that are no scalar are dropped."""
        total = Resource()
        for name, quantity in quantities.items():
            if name == "cpu":
                total.milli_cpu += quantity.milli_value()
            elif name == "memory":
                total.memory += quantity.value()
            elif name == "ephemeral-storage":
                total.ephemeral_storage += quantity.value()
            elif name == "pods":
                total.allowed_pod_number += quantity.value()
            elif resources.is_scalar(name):
                total.scalar[name] = total.scalar.get(name, 0) + quantity.value()
        return total

    def items(self) -> Iterator[tuple[str, int]]:
        """(name as in manifests, amount): cpu, memory, ephemeral storage, then the scalars by name."""
        yield "cpu", self.milli_cpu
        yield "memory", self.memory
        yield "ephemeral-storage", self.ephemeral_storage
        yield from sorted(self.scalar.items())

    def amount_of(self, name: str) -> int:
        """The amount of one resource by its name in manifests; 0 when it is not named."""
        field_name = _FIELDS.get(name)
        return self.scalar.get(name, 0) if field_name is None else getattr(self, field_name)

    def add(self, other: Resource) -> None:
        self.milli_cpu += other.milli_cpu
        self.memory += other.memory
        self.ephemeral_storage += other.ephemeral_storage
        if other.scalar:
            for name, amount in other.scalar.items():
                self.scalar[name] = self.scalar.get(name, 0) + amount

    def subtract(self, other: Resource) -> None:
        self.milli_cpu -= other.milli_cpu
        self.memory -= other.memory
        self.ephemeral_storage -= other.ephemeral_storage
        if other.scalar:
            for name, amount in other.scalar.items():
                self.scalar[name] = self.scalar.get(name, 0) - amount

    def assign(self, other: Resource) -> None:
        """Become equal to the other, and stay apart from it."""
        self.milli_cpu = other.milli_cpu
        self.memory = other.memory
        self.ephemeral_storage = other.ephemeral_storage
        self.allowed_pod_number = other.allowed_pod_number
        if self.scalar or other.scalar:
            self.scalar = dict(other.scalar)

    def copy(self) -> Resource:
        return Resource(self.milli_cpu, self.memory, self.ephemeral_storage, self.allowed_pod_number, dict(self.scalar))


class PodKind(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """What selectors of pods look at."""

    namespace: str
    label_pairs: tuple[tuple[str, str], ...]
    is_terminating: bool

    @staticmethod
    def of(pod: Pod) -> PodKind:
        labels = pod.metadata.labels
        return PodKind(pod.namespace, tuple(sorted(labels.items())) if labels else (), pod.is_terminating)

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.label_pairs)


class PodInfo(msgspec.Struct, frozen=True, gc=False):
    """A pod with what its node adds up, computed once; a changed pod gets a new PodInfo.

    Pods with one signature share `request`, ports, claims, `kind` and `terms`: the same objects, as a rule.
    """

    pod: Pod
    request: Resource  # status and pod-level resources counted; never changed
    non_zero_milli_cpu: int  # with the defaults for containers that name no value
    non_zero_memory: int
    host_ports: tuple[resources.HostPort, ...]
    claim_keys: tuple[str, ...]  # `namespace/claim` of plain PVC volumes, repeated as often as listed
    has_affinity: bool  # any podAffinity or podAntiAffinity stanza
    has_required_anti_affinity: bool
    kind: PodKind
    terms: AffinityTerms = NO_TERMS  # of podAffinity and podAntiAffinity

    @staticmethod
    def of(pod: Pod, signed: Signature | None = None) -> PodInfo:
        """`signed`: the pod's signature, where it is known."""
        key = signature(pod) if signed is None else signed
        twin = _known_pods.get(key)
        if twin is not None:
            return PodInfo(
                pod,
                twin.request,
                twin.non_zero_milli_cpu,
                twin.non_zero_memory,
                twin.host_ports,
                twin.claim_keys,
                twin.has_affinity,
                twin.has_required_anti_affinity,
                twin.kind,
                twin.terms,
            )
        info = PodInfo._worked_out(pod)
        if len(key) <= _LONGEST_KNOWN:
            _known_pods[key] = info
        return info

    @staticmethod
    def _worked_out(pod: Pod) -> PodInfo:
        request, non_zero_milli_cpu, non_zero_memory = resources.node_sums(pod)
        affinity = pod.spec.affinity
        anti = affinity.pod_anti_affinity if affinity else None
        return PodInfo(
            pod=pod,
            request=Resource.of(request),
            non_zero_milli_cpu=non_zero_milli_cpu,
            non_zero_memory=non_zero_memory,
            host_ports=resources.host_ports(pod),
            claim_keys=tuple(
                f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
                for volume in pod.spec.volumes or ()
                if volume.persistent_volume_claim is not None
            ),
            has_affinity=affinity is not None
            and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None),
            has_required_anti_affinity=bool(anti and anti.required_during_scheduling_ignored_during_execution),
            kind=PodKind.of(pod),
            terms=affinity_terms(pod),
        )


_known_pods: LruDict[Signature, PodInfo] = LruDict(_MAX_KNOWN_PODS)  # one pod of each signature seen lately


@dataclass(slots=True)
class QueuedPodInfo:
    """A pod in the scheduling queue with its history. Times are microseconds; `None` means unset.

    Moves between sub-queues leave `timestamp` and `backoff_expiration` alone.
    """

    pod: Pod
    timestamp: int
    attempts: int = 0
    initial_attempt_timestamp: int | None = None
    backoff_expiration: int | None = None
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    gating_plugin_events: tuple[ClusterEvent, ...] = ()
    # Total order of the heaps: the turn in which the entry was made.
    sequence: int = 0
    key: str = field(init=False)  # `namespace/name`: any pod that takes the place of this one has the same
    _signed: tuple[Pod, Signature] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.key = self.pod.key

    def signature(self) -> Signature:
        """That of the pod as it is now."""
        signed = self._signed
        if signed is None or signed[0] is not self.pod:
            signed = self._signed = (self.pod, signature(self.pod))
        return signed[1]

    @property
    def uid(self) -> str:
        return self.pod.uid

    @property
    def gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def blamed_plugins(self) -> set[str]:
        return self.unschedulable_plugins | self.pending_plugins


_NEVER_LOOKED_AT = Status(Code.UnschedulableAndUnresolvable)


class NodeToStatus(Mapping[str, Status]):
    """Why each node was refused, in the order found; nodes never looked at share `absent`."""

    __slots__ = ("_statuses", "absent")

    def __init__(self, absent: Status | None = None) -> None:
        self._statuses: dict[str, Status] = {}
        self.absent = absent if absent is not None else _NEVER_LOOKED_AT

    def set(self, node_name: str, status: Status) -> None:
        self._statuses[node_name] = status

    def status_of(self, node_name: str) -> Status:
        """The explicit status, else the one of nodes never looked at."""
        return self._statuses.get(node_name, self.absent)

    def nodes_with_code(self, code: Code, names: Sequence[str]) -> npt.NDArray[np.int32]:
        """The places in `names` of the nodes whose status has exactly this code, in order."""
        if not self._statuses and self.absent.code is not code:
            return np.zeros(0, dtype=np.int32)
        places = [place for place, name in enumerate(names) if self.status_of(name).code is code]
        return np.array(places, dtype=np.int32)

    def reason_counts(self) -> dict[str, int]:
        """How often each reason occurs among the explicit statuses."""
        return count_reasons(status.reasons for status in self.values())

    def __getitem__(self, node_name: str) -> Status:
        return self._statuses[node_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._statuses)

    def __len__(self) -> int:
        return len(self._statuses)


class Diagnosis(msgspec.Struct):
    """Which plugins refused the pod, and what they said."""

    node_to_status: NodeToStatus = msgspec.field(default_factory=NodeToStatus)
    unschedulable_plugins: set[str] = msgspec.field(default_factory=set)
    pending_plugins: set[str] = msgspec.field(default_factory=set)
    pre_filter_message: str = ""
    post_filter_message: str = ""

    def blame(self, status: Status) -> None:
        """Remember the plugin of a rejection; a Pending one counts in both sets, as upstream."""
        if not status.plugin:
            return
        if status.is_rejected:
            self.unschedulable_plugins.add(status.plugin)
        if status.code is Code.Pending:
            self.pending_plugins.add(status.plugin)


@dataclass(slots=True)
class FitError:
    """No node fits; `message()` is the text users read."""

    num_all_nodes: int
    diagnosis: Diagnosis

    def message(self) -> str:
        """`0/N nodes are available: …`: the reasons counted, sorted as strings ("10 x" before "2 x")."""
        diagnosis = self.diagnosis
        text = f"0/{self.num_all_nodes} nodes are available:"
        if diagnosis.pre_filter_message:
            text += f" {diagnosis.pre_filter_message}."
        else:
            histogram = self._histogram()
            if histogram:
                text += " " + ", ".join(histogram) + "."
        if diagnosis.post_filter_message:
            text += f" {diagnosis.post_filter_message}"
        return text

    def _histogram(self) -> list[str]:
        statuses = self.diagnosis.node_to_status
        counts = statuses.reason_counts()
        unseen = self.num_all_nodes - len(statuses)
        if unseen > 0:
            for reason in statuses.absent.reasons:
                counts[reason] = counts.get(reason, 0) + unseen
        return sorted(f"{count} {reason}" for reason, count in counts.items())


def count_reasons(reason_lists: Iterable[Iterable[str]]) -> dict[str, int]:
    """How often each reason occurs."""
    counts: dict[str, int] = {}
    for reasons in reason_lists:
        for reason in reasons:
            counts[reason] = counts.get(reason, 0) + 1
    return counts
