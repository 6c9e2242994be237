"""Otter Post's services and jobs, and pods that never fit anywhere.

The pods that cannot be placed each fail for another reason; those behind a gate wait for somebody to lift it. All this
is cut to the pools of `nodes.py`: general, small, memory, gpu, spot, edge and vault.
The renderers fill up the general nodes, at the lowest priority; a burst of launch-day pods takes their places.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.controllers.annotations import STOP_SECONDS
from scheduler_core.sim.demo import APP_LABEL, Job, Script, Service

REGISTRY: Final = "registry.otterpost.example"
MAX_PODS: Final = 400

PRIORITY_CLASSES: Final = (  # name, value, is the default
    ("otter-critical", 1_000_000, False),
    ("launch-day", 500_000, False),
    ("standard", 1_000, True),
    ("whenever", -100, False),
)

GPU: Final = "nvidia.com/gpu"
POOL: Final = "otterpost.example/pool"
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
TOLERATES_GPU: Final = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
TOLERATES_SPOT: Final = {"key": "otterpost.example/spot", "operator": "Exists"}

DISK_DRIVER: Final = "disk.csi.otterpost.example"
DISK_CLASS: Final = "river-disk"  # made where the pod goes
LOCAL_CLASS: Final = "den-disk"  # disks that lie in one node


def _spec(app: str, cpu: str, memory: str, *, port: int = 0, gpus: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a pod spec with one container; `fields` go into the spec unchanged."""
    resources: dict[str, Any] = {"requests": {"cpu": cpu, "memory": memory}}
    if gpus:
        resources = {"requests": {"cpu": cpu, "memory": memory, GPU: str(gpus)}, "limits": {GPU: str(gpus)}}
        fields["tolerations"] = [TOLERATES_GPU]
    container: dict[str, Any] = {"name": app, "image": f"{REGISTRY}/{app}:1", "resources": resources}
    if port:
        container["ports"] = [{"name": "serve", "containerPort": port, "hostPort": port}]
    if "volumes" in fields:
        container["volumeMounts"] = [{"name": each["name"], "mountPath": "/data"} for each in fields["volumes"]]
    return {"containers": [container], **fields}


def _required(key: str, *values: str) -> dict[str, Any]:
    """Return required node affinity."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _preferred(weight: int, key: str, *values: str) -> dict[str, Any]:
    """Return preferred node affinity."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": term}]}
    }


def _pods_of(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {APP_LABEL: app}}}


def _next_to(app: str, key: str) -> dict[str, Any]:
    """Return required pod affinity."""
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_pods_of(app) | {"topologyKey": key}]}}


def _apart(app: str, key: str) -> dict[str, Any]:
    """Return required pod anti-affinity."""
    term = _pods_of(app) | {"topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(app: str, key: str, when: str, max_skew: int = 1, **fields: Any) -> dict[str, Any]:
    return {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": when, **_pods_of(app), **fields}


def _own_disk(size: str) -> list[dict[str, Any]]:
    """Return an ephemeral volume."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": DISK_CLASS,
        "resources": {"requests": {"storage": size}},
    }
    return [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]


def _claimed(claim: str) -> list[dict[str, Any]]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def _service(
    namespace: str,
    name: str,
    replicas: int,
    cpu: str,
    memory: str,
    *,
    rolled_out: bool = False,
    stop_seconds: int | None = None,
    **fields: Any,
) -> Service:
    annotations = {} if stop_seconds is None else {STOP_SECONDS: str(stop_seconds)}
    return Service(namespace, name, replicas, _spec(name, cpu, memory, **fields), rolled_out, annotations)


def _job(
    namespace: str, name: str, cpu: str, memory: str, run_seconds: tuple[int, int], *, share: int = 1, **fields: Any
) -> Job:
    return Job(namespace, name, _spec(name, cpu, memory, **fields), run_seconds, share)


_CRITICAL: Final[dict[str, Any]] = {"priorityClassName": "otter-critical"}
_WHENEVER: Final[dict[str, Any]] = {"priorityClassName": "whenever"}
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"

SERVICES: Final = (
    _service("dispatch", "paddle-router", 8, "1500m", "2Gi", rolled_out=True),
    _service("dispatch", "clam-cracker", 6, "750m", "1Gi", affinity=_preferred(60, ZONE, "river-a")),
    _service("dispatch", "raft-builder", 6, "2", "3Gi", nodeSelector={"otterpost.example/disk": "ssd"}),
    _service("tracking", "where-is-my-parcel", 10, "500m", "512Mi", rolled_out=True),
    _service("tracking", "whisker-sense", 6, "1", "1Gi"),
    _service("payments", "pebble-ledger", 6, "2", "4Gi", affinity=_required(ZONE, "river-a", "river-b"), **_CRITICAL),
    _service("payments", "shell-game-detector", 4, "2", "12Gi", affinity=_preferred(90, POOL, "memory")),
    # As many in each zone, and on as many nodes as may be.
    _service(
        "web",
        "storefront",
        12,
        "750m",
        "1Gi",
        rolled_out=True,
        topologySpreadConstraints=[_spread("storefront", ZONE, _HARD), _spread("storefront", HOSTNAME, _SOFT)],
    ),
    # Each beside a storefront, no two on one node.
    _service(
        "web",
        "warm-fish-cache",
        4,
        "250m",
        "512Mi",
        affinity=_next_to("storefront", HOSTNAME) | _apart("warm-fish-cache", HOSTNAME),
    ),
    _service("web", "teapot", 3, "250m", "128Mi"),
    _service("platform", "coffee-gateway", 4, "500m", "512Mi"),
    _service("platform", "it-was-dns", 3, "250m", "256Mi", **_CRITICAL),
    _service("platform", "rubber-duck", 3, "100m", "64Mi"),
    _service("platform", "river-gauge", 6, "100m", "64Mi", affinity=_apart("river-gauge", HOSTNAME), **_CRITICAL),
    _service(
        "platform",
        "yak-shaver",
        5,
        "1",
        "2Gi",
        tolerations=[TOLERATES_SPOT],
        affinity=_preferred(80, POOL, "spot"),
        **_WHENEVER,
    ),
    # A disk each, made in the zone of its node; a node of the small pool takes one.
    _service("tracking", "parcel-index", 6, "500m", "1Gi", nodeSelector={POOL: "small"}, volumes=_own_disk("20Gi")),
    # Its disk binds it to a zone, and to one node.
    _service("payments", "tide-book", 1, "500m", "1Gi", volumes=_claimed("tide-book")),
    _service("payments", "shell-vault", 1, "500m", "1Gi", volumes=_claimed("shell-vault")),
    _service("ml-lab", "fish-or-not-fish", 4, "4", "8Gi", gpus=1),
    _service("ml-lab", "tide-forecast", 2, "4", "16Gi", gpus=2),
    # Whatever is left of the general nodes. Whoever is more important takes it from them.
    _service("studio", "whisker-renderer", 46, "2", "2Gi", nodeSelector={POOL: "general"}, stop_seconds=3, **_WHENEVER),
    # Three edge nodes have the port, and four want it.
    _service("edge", "lamp-lighter", 4, "250m", "256Mi", port=8443, nodeSelector={POOL: "edge"}),
    # Larger than any node.
    _service("attic", "legacy-monolith", 1, "96", "512Gi"),
    # Nobody carries the label.
    _service("attic", "quantum-index", 1, "1", "1Gi", nodeSelector={"otterpost.example/qubits": "many"}),
    # The vault is locked, and they have no key.
    _service("attic", "vault-reader", 2, "500m", "512Mi", nodeSelector={POOL: "vault"}),
    # Four of them, each wanting a zone to itself.
    _service("attic", "lonely-heron", 4, "100m", "64Mi", affinity=_apart("lonely-heron", ZONE)),
    # River-c counts as a zone of theirs, but they may not go there: a third one would make it uneven.
    _service(
        "attic",
        "even-keel",
        3,
        "100m",
        "64Mi",
        affinity=_required(ZONE, "river-a", "river-b"),
        topologySpreadConstraints=[_spread("even-keel", ZONE, _HARD, nodeAffinityPolicy="Ignore")],
    ),
    # Nodes have four each.
    _service("ml-lab", "fish-tycoon", 1, "8", "32Gi", gpus=8),
    _service("web", "friday-deploy", 3, "500m", "512Mi", schedulingGates=[{"name": "otterpost.example/monday"}]),
    _service("ml-lab", "bigger-model", 1, "8", "32Gi", gpus=4, schedulingGates=[{"name": "otterpost.example/budget"}]),
)

BUDGETS: Final = (  # namespace, app, how many have to stay
    ("web", "storefront", 9),
    ("payments", "pebble-ledger", 5),
    ("studio", "whisker-renderer", 12),
)

JOBS: Final = (
    _job("tracking", "map-tile-bake", "1", "1Gi", (20, 60), share=3),
    _job("payments", "invoice-run", "500m", "512Mi", (30, 90), share=3),
    _job("platform", "nightly-build", "2", "4Gi", (40, 90), share=2),  # nobody asked which night
    _job("web", "photo-resize", "500m", "256Mi", (15, 40), share=4),
    _job(
        "web",
        "spam-sorter",
        "1",
        "512Mi",
        (20, 60),
        share=2,
        tolerations=[TOLERATES_SPOT],
        affinity=_preferred(100, POOL, "spot"),
        **_WHENEVER,
    ),
    _job("platform", "heisenbug-hunt", "100m", "64Mi", (60, 120)),
    _job("ml-lab", "label-otters", "2", "4Gi", (30, 60), gpus=1),
)

LAUNCH: Final = _job(
    "web",
    "launch-day-queue",
    "2",
    "1Gi",
    (30, 60),
    priorityClassName="launch-day",
    nodeSelector={POOL: "general"},
)

SCRIPT: Final = Script(services=SERVICES, jobs=JOBS, burst=LAUNCH, max_pods=MAX_PODS)
