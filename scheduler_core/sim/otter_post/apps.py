"""Otter Post's services, and pods that never fit anywhere; what comes and goes is in `script.py`.

The pods that cannot be placed each fail for another reason; those behind a gate wait for somebody to lift it. All this
is cut to the pools of `nodes.py`: general, small, memory, gpu, spot, edge and vault.
The renderers fill up the general nodes, at the lowest priority; a burst of launch-day pods takes their places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.controllers.annotations import STOP_SECONDS
from scheduler_core.controllers.kubelet.pod_usage import MEMORY, USAGE
from scheduler_core.sim.demo import APP_LABEL
from scheduler_core.sim.otter_post.specs import (
    DISK_CLASS,
    HOSTNAME,
    LEAVES_SILENT_NODES,
    LOCAL_CLASS,
    POOL,
    TOLERATES_SPOT,
    ZONE,
    apart,
    disk,
    next_to,
    own_disk,
    preferred,
    required,
    spec,
    spread,
)

PRIORITY_CLASSES: Final = (  # name, value, is the default
    ("otter-critical", 1_000_000, False),
    ("launch-day", 500_000, False),
    ("standard", 1_000, True),
    ("whenever", -100, False),
)


@dataclass(frozen=True, slots=True)
class Service:
    """Pods that a controller keeps at a number, but for DaemonSets, which have one on each node that they may use.

    `spec` is a pod spec, used as it is; `annotations` are those of the pods, `settings` further fields of the owner.
    """

    kind: str
    namespace: str
    name: str
    replicas: int
    spec: Mapping[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def manifest(self) -> dict[str, Any]:
        """Return the owner of the pods."""
        labels = {APP_LABEL: self.name}
        template = {"metadata": {"labels": labels, "annotations": dict(self.annotations)}, "spec": dict(self.spec)}
        size = {} if self.kind == "DaemonSet" else {"replicas": self.replicas}
        return {
            "apiVersion": "apps/v1",
            "kind": self.kind,
            "metadata": {"namespace": self.namespace, "name": self.name, "labels": labels},
            "spec": {**size, "selector": {"matchLabels": labels}, "template": template, **self.settings},
        }


def _deployment(
    namespace: str,
    name: str,
    replicas: int,
    cpu: str,
    memory: str,
    *,
    annotations: Mapping[str, str] = {},
    settings: Mapping[str, Any] = {},
    **fields: Any,
) -> Service:
    # Few of the many revisions that the script makes are kept.
    settings = {"revisionHistoryLimit": 2, **settings}
    return Service("Deployment", namespace, name, replicas, spec(name, cpu, memory, **fields), annotations, settings)


def _stateful_set(
    namespace: str, name: str, replicas: int, cpu: str, memory: str, disks: Mapping[str, Any], **fields: Any
) -> Service:
    """Return pods with a disk each, which stays theirs."""
    settings = {"serviceName": name, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": disks}]}
    fields = {"mounted": ["data"], **fields}
    return Service("StatefulSet", namespace, name, replicas, spec(name, cpu, memory, **fields), {}, settings)


_CRITICAL: Final[dict[str, Any]] = {"priorityClassName": "otter-critical"}
_WHENEVER: Final[dict[str, Any]] = {"priorityClassName": "whenever"}
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
# A new pod has to stand for a while before the next one is replaced.
_SLOWLY: Final[dict[str, Any]] = {"minReadySeconds": 8}

SERVICES: Final = (
    _deployment("dispatch", "paddle-router", 8, "1500m", "2Gi", settings=_SLOWLY),
    _deployment("dispatch", "clam-cracker", 6, "750m", "1Gi", affinity=preferred(60, ZONE, "river-a")),
    _deployment("dispatch", "raft-builder", 6, "2", "3Gi", nodeSelector={"otterpost.example/disk": "ssd"}),
    _deployment("tracking", "where-is-my-parcel", 10, "500m", "512Mi", settings=_SLOWLY),
    _deployment("tracking", "whisker-sense", 6, "1", "1Gi"),
    # A disk each, which binds it to the zone it was first placed in.
    _stateful_set(
        "payments",
        "pebble-ledger",
        6,
        "2",
        "4Gi",
        disk(DISK_CLASS, "20Gi"),
        affinity=required(ZONE, "river-a", "river-b"),
        **_CRITICAL,
    ),
    _deployment("payments", "shell-game-detector", 4, "2", "12Gi", affinity=preferred(90, POOL, "memory")),
    # As many in each zone, and on as many nodes as may be; those of another revision do not count.
    _deployment(
        "web",
        "storefront",
        12,
        "750m",
        "1Gi",
        settings=_SLOWLY,
        topologySpreadConstraints=[
            spread("storefront", ZONE, _HARD, matchLabelKeys=["pod-template-hash"]),
            spread("storefront", HOSTNAME, _SOFT, matchLabelKeys=["pod-template-hash"]),
        ],
    ),
    # Each beside a storefront, no two on one node.
    _deployment(
        "web",
        "warm-fish-cache",
        4,
        "250m",
        "512Mi",
        affinity=next_to("storefront", HOSTNAME) | apart("warm-fish-cache", HOSTNAME),
    ),
    _deployment("web", "teapot", 3, "250m", "128Mi"),
    _deployment("platform", "coffee-gateway", 4, "500m", "512Mi"),
    _deployment("platform", "it-was-dns", 3, "250m", "256Mi", **_CRITICAL),
    _deployment("platform", "rubber-duck", 3, "100m", "64Mi"),
    # One on each node without a taint that keeps it away; they stay when a node is drained.
    Service("DaemonSet", "platform", "river-gauge", 51, spec("river-gauge", "20m", "32Mi", **_CRITICAL)),
    # What they use is less than they ask for, so that they stay when their node runs out of memory.
    _deployment(
        "platform",
        "yak-shaver",
        5,
        "1",
        "2Gi",
        annotations={f"{USAGE}{MEMORY}": "1500Mi"},
        tolerations=[TOLERATES_SPOT],
        affinity=preferred(80, POOL, "spot"),
        **_WHENEVER,
    ),
    # A disk each, made in the zone of its node and gone with it; a node of the small pool takes one.
    _deployment("tracking", "parcel-index", 6, "500m", "1Gi", nodeSelector={POOL: "small"}, volumes=own_disk("20Gi")),
    # Its disk binds it to a zone, and to one node.
    _stateful_set("payments", "tide-book", 1, "500m", "1Gi", disk(DISK_CLASS, "50Gi")),
    _stateful_set("payments", "shell-vault", 1, "500m", "1Gi", disk(LOCAL_CLASS, "50Gi")),
    _deployment("ml-lab", "fish-or-not-fish", 4, "4", "8Gi", gpus=1),
    _deployment("ml-lab", "tide-forecast", 2, "4", "16Gi", gpus=2),
    # Whatever is left of the general nodes. Whoever is more important takes it from them, and from a node that is not
    # heard of they go soon.
    _deployment(
        "studio",
        "whisker-renderer",
        46,
        "2",
        "2Gi",
        annotations={STOP_SECONDS: "3"},
        nodeSelector={POOL: "general"},
        tolerations=LEAVES_SILENT_NODES,
        **_WHENEVER,
    ),
    # Three edge nodes have the port, and four want it.
    _deployment("edge", "lamp-lighter", 4, "250m", "256Mi", port=8443, nodeSelector={POOL: "edge"}),
    # Larger than any node.
    _deployment("attic", "legacy-monolith", 1, "96", "512Gi"),
    # Nobody carries the label.
    _deployment("attic", "quantum-index", 1, "1", "1Gi", nodeSelector={"otterpost.example/qubits": "many"}),
    # The vault is locked, and they have no key.
    _deployment("attic", "vault-reader", 2, "500m", "512Mi", nodeSelector={POOL: "vault"}),
    # Four of them, each wanting a zone to itself.
    _deployment("attic", "lonely-heron", 4, "100m", "64Mi", affinity=apart("lonely-heron", ZONE)),
    # River-c counts as a zone of theirs, but they may not go there: a third one would make it uneven.
    _deployment(
        "attic",
        "even-keel",
        3,
        "100m",
        "64Mi",
        affinity=required(ZONE, "river-a", "river-b"),
        topologySpreadConstraints=[spread("even-keel", ZONE, _HARD, nodeAffinityPolicy="Ignore")],
    ),
    # Nodes have four each.
    _deployment("ml-lab", "fish-tycoon", 1, "8", "32Gi", gpus=8),
    _deployment("web", "friday-deploy", 3, "500m", "512Mi", schedulingGates=[{"name": "otterpost.example/monday"}]),
    _deployment(
        "ml-lab", "bigger-model", 1, "8", "32Gi", gpus=4, schedulingGates=[{"name": "otterpost.example/budget"}]
    ),
)

BUDGETS: Final = (  # namespace, app, how many have to stay
    ("web", "storefront", 9),
    ("payments", "pebble-ledger", 5),
    ("studio", "whisker-renderer", 12),
)
