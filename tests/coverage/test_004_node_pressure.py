"""File 004, node-pressure eviction: one test per row of its coverage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scheduler_core.apiserver.requests import Create
from scheduler_core.controllers.kubelet.configuration import read_config
from scheduler_core.controllers.kubelet.oom import oom_score, oom_score_adj
from scheduler_core.controllers.kubelet.pod_usage import Used
from scheduler_core.controllers.kubelet.signals import Observed, signals_of
from scheduler_core.controllers.kubelet.usage import Constant
from tests.builders import make_node, make_pod
from tests.core.controllers.kubelet.nodes import SECOND, Nodes

MEMORY = "kschedweb.io/usage-memory"
STORAGE = "kschedweb.io/usage-ephemeral-storage"
ROOM = {"cpu": "8", "memory": "1Gi", "ephemeral-storage": "100Gi", "pods": "20"}
GI, MI = 1024**3, 1024**2
GUIDE = Path(__file__).parents[2] / "docs" / "kubelets.md"


def configured(text: str, room: dict[str, str] = ROOM, **annotations: str) -> Nodes:
    """A node with this KubeletConfiguration; annotations by their last part."""
    nodes = Nodes(room=room)
    named = {f"kschedweb.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    nodes.patch_node({"metadata": {"annotations": {"kschedweb.io/kubelet-config": text, **named}}})
    return nodes


def condition(nodes: Nodes, kind: str) -> str:
    conditions = nodes.get("n1", "Node")["status"].get("conditions", ())
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "False")


def test_004_signals() -> None:
    """node-pressure eviction: signals"""
    node = (
        make_node("n")
        .capacity(memory="10Gi", ephemeral_storage="100Gi")
        .annotation(
            {"kschedweb.io/imagefs": "50Gi", "kschedweb.io/max-pids": "1000", "kschedweb.io/system-memory": "1Gi"}
        )
        .status(
            capacity={"memory": "10Gi", "ephemeral-storage": "100Gi"}, images=[{"names": ["i"], "sizeBytes": 5 * GI}]
        )
        .build()
    )
    amounts = {
        "memory": 2 * GI, "logs": GI, "volumes": 2 * GI, "ephemeral-storage": 3 * GI, "inodes": 1000, "pids": 300,
    }  # fmt: skip
    used = [Used("c", name, Constant(amount), 0) for name, amount in amounts.items()]
    seen = {name: signal.at(5) for name, signal in signals_of(node, read_config(), used).items()}
    assert seen == {
        "memory.available": Observed(7 * GI, 10 * GI),  # capacity less the working set, active_file and all
        "nodefs.available": Observed(97 * GI, 100 * GI),
        "nodefs.inodesFree": Observed(100 * GI // 16384, 100 * GI // 16384),
        "imagefs.available": Observed(42 * GI, 50 * GI),
        "imagefs.inodesFree": Observed(50 * GI // 16384 - 1000, 50 * GI // 16384),
        "pid.available": Observed(700, 1000),
    }


def test_004_thresholds() -> None:
    """soft/hard thresholds, defaults, reset rule"""
    defaults = {one.signal: one.quantity(100 * GI).value() for one in read_config().thresholds}
    assert defaults["memory.available"] == 100 * MI and len(defaults) == 5
    assert [round(defaults[name] / GI) for name in ("nodefs.available", "imagefs.available")] == [10, 15]
    # One of one's own, and the others are gone.
    assert [one.signal for one in read_config("evictionHard: {nodefs.available: 1Gi}").thresholds] == [
        "nodefs.available"
    ]
    soft = "evictionSoft: {memory.available: 50%}\nevictionSoftGracePeriod: {memory.available: 1m30s}"
    nodes = configured(soft)
    nodes.pod(annotations={MEMORY: "600Mi"})
    nodes.run_for(95)
    assert nodes.phase() == "Running"
    nodes.run_for(10)
    assert nodes.phase() == "Failed"
    hard = configured("evictionHard: {memory.available: 50%}")
    hard.pod(annotations={MEMORY: "600Mi"})
    hard.run_for(11)
    assert hard.phase() == "Failed"


def test_004_monitoring_interval() -> None:
    """monitoring interval 10 s, status update 10 s"""
    nodes = configured("evictionHard: {memory.available: 100Mi}")
    nodes.pod(annotations={MEMORY: "trace(0s=0, 11s=1000Mi)"})
    nodes.run_for(19.9)
    assert (nodes.phase(), condition(nodes, "MemoryPressure")) == ("Running", "False")
    nodes.run_for(0.2)
    assert (nodes.phase(), condition(nodes, "MemoryPressure")) == ("Failed", "True")
    # What comes and goes between two looks nobody sees.
    spike = configured("evictionHard: {memory.available: 100Mi}")
    spike.pod(annotations={MEMORY: "trace(0s=0, 11s=1000Mi, 18s=0)"})
    spike.run_for(600)
    assert (spike.phase(), condition(spike, "MemoryPressure")) == ("Running", "False")


def test_004_conditions_do_not_oscillate() -> None:
    """node conditions mapping, transition 5 min"""
    soft = "evictionSoft: {memory.available: 300Mi}\nevictionSoftGracePeriod: {memory.available: 10m}"
    nodes = configured(soft)
    changes = ", ".join(f"{second}s={'800Mi' if second % 200 else '100Mi'}" for second in range(100, 1100, 100))
    nodes.pod(annotations={MEMORY: f"trace(0s=100Mi, {changes}, 1150s=100Mi)"})
    seen = []
    for _ in range(170):
        nodes.run_for(10)
        seen.append(condition(nodes, "MemoryPressure"))
    first, last = seen.index("True"), len(seen) - seen[::-1].index("True")
    assert set(seen[first:last]) == {"True"} and set(seen[last:]) == {"False"}
    # Seen at 110 s first and at 1000 s last; five minutes later, at 1300 s, it is over.
    assert (first, last) == (10, 129)
    for usage, kind in ((STORAGE, "DiskPressure"), ("kschedweb.io/usage-pids", "PIDPressure")):
        other = configured("mergeDefaultEvictionSettings: true\nevictionHard: {pid.available: '100'}")
        other.pod(annotations={usage: "32700" if kind == "PIDPressure" else "95Gi"})
        other.run_for(11)
        assert [condition(other, one) for one in ("MemoryPressure", kind)] == ["False", "True"]


IMAGES: list[dict[str, Any]] = [
    {"names": ["main:1"], "sizeBytes": GI},
    {"names": ["old:1"], "sizeBytes": 9 * GI},
]


def test_004_node_level_reclaim() -> None:
    """node-level reclaim, imagefs split"""
    left = {}
    for split in (False, True):
        annotations = {"imagefs": "100Gi"} if split else {}
        nodes = configured(
            "evictionHard: {nodefs.available: 10%}", {**ROOM, "ephemeral-storage": "20Gi"}, **annotations
        )
        nodes.patch_node({"status": {"images": IMAGES}}, subresource="status")
        nodes.pod(annotations={"kschedweb.io/usage-logs": "18500Mi" if split else "9Gi"})
        nodes.run_for(11)
        left[split] = [image["names"][0] for image in nodes.get("n1", "Node")["status"]["images"]], nodes.phase()
    # On one file system images go first, and that suffices; their own does not help the main one.
    assert left == {False: (["main:1"], "Running"), True: (["main:1", "old:1"], "Failed")}


def test_004_ranking() -> None:
    """ranking, static pods, inode/PID by priority"""
    full = {"cpu": "1", "memory": "300Mi"}
    for usage, threshold, amounts, order in (
        # Beyond its request first, then priority, then how much beyond.
        (MEMORY, "memory.available: 900Mi", ("200Mi", "250Mi", "290Mi", "150Mi"), ["none", "over", "high", "full"]),
        ("kschedweb.io/usage-pids", "pid.available: '32769'", ("1", "1", "1", "5"), ["none", "full", "over", "high"]),
        (
            "kschedweb.io/usage-inodes",
            "nodefs.inodesFree: '6553601'",
            ("9", "8", "7", "6"),
            ["full", "over", "none", "high"],
        ),
    ):
        nodes = configured(
            f"evictionHard: {{{threshold}}}",
            {**ROOM, "memory": "10Gi"},
            **({"system_memory": "10Gi"} if usage == MEMORY else {}),
        )
        static = "{kind: Pod, metadata: {name: own}, spec: {containers: [{name: c, image: i}]}}"
        nodes.patch_node({"metadata": {"annotations": {"kschedweb.io/static-pods": static}}})
        nodes.pod(
            "full", requests=full, limits=full, annotations={usage: amounts[0], "kschedweb.io/start-seconds": "2"}
        )
        nodes.pod(
            "over", requests={"memory": "200Mi"}, annotations={usage: amounts[1], "kschedweb.io/start-seconds": "2"}
        )
        nodes.pod("high", annotations={usage: amounts[2], "kschedweb.io/start-seconds": "2"}, priorityClassName="high")
        nodes.pod("none", annotations={usage: amounts[3], "kschedweb.io/start-seconds": "2"})
        gone: list[str] = []
        for _ in range(100):
            nodes.run_for(0.5)
            gone += [
                name for name in ("full", "over", "high", "none") if nodes.phase(name) == "Failed" and name not in gone
            ]
        assert gone[: len(order)] == order, usage
        assert nodes.phase("own-n1") == "Running"


def test_004_minimum_reclaim() -> None:
    """minimum reclaim"""
    text = (
        "evictionHard: {memory.available: 500Mi, nodefs.available: 1Gi, imagefs.available: 100Gi}\n"
        "evictionMinimumReclaim: {memory.available: 0Mi, nodefs.available: 500Mi, imagefs.available: 2Gi}"
    )
    wanted = {one.signal: one.quantity(GI, with_reclaim=True).value() for one in read_config(text).thresholds}
    assert wanted["imagefs.available"] == 102 * GI and wanted["memory.available"] == 500 * MI
    assert wanted["nodefs.available"] == GI + 500 * MI
    # 400Mi are free. Pods of 300Mi go until 1.5Gi are: the fourth makes 1.6Gi of it, though 1Gi was there with two.
    nodes = configured(
        text.replace(", imagefs.available: 100Gi", ""), {**ROOM, "memory": "9Gi"}, imagefs="200Gi", nodefs="10Gi"
    )
    for number in range(6):
        nodes.pod(f"p{number}", annotations={"kschedweb.io/usage-logs": "300Mi", "kschedweb.io/start-seconds": "2"})
    system = {"kschedweb.io/system-ephemeral-storage": f"{10 * 1024 - 6 * 300 - 400}Mi"}
    nodes.patch_node({"metadata": {"annotations": system}})
    nodes.run_for(120)
    assert sum(nodes.phase(f"p{number}") == "Failed" for number in range(6)) == 4
    # An image file system of 200Gi with 99Gi left: what unused images hold is less than the minimum, so they stay.
    images = configured(text, imagefs="200Gi")
    used = [{"names": ["main:1"], "sizeBytes": 100 * GI}, {"names": ["old:1"], "sizeBytes": GI}]
    images.patch_node({"status": {"images": used}}, subresource="status")
    images.pod(annotations={STORAGE: "1Mi"}, priorityClassName="system-cluster-critical")
    images.run_for(15)
    assert len(images.get("n1", "Node")["status"]["images"]) == 2
    used[1]["sizeBytes"] = 3 * GI
    images.patch_node({"status": {"images": used}}, subresource="status")
    images.run_for(10)
    assert len(images.get("n1", "Node")["status"]["images"]) == 1


def test_004_oom_scores() -> None:
    """OOM scores"""
    full = {"cpu": "1", "memory": "1Gi"}
    pods = {
        "guaranteed": make_pod("g").container(full, limits=full).build(),
        "burstable": make_pod("b").req(memory="4Gi").build(),
        "least": make_pod("l").req(memory="10Gi").build(),
        "best effort": make_pod("e").container().build(),
    }
    scores = {name: oom_score_adj(pod, pod.spec.containers[0], 10 * GI) for name, pod in pods.items()}
    assert scores == {"guaranteed": -997, "burstable": 1000 - 1000 * 4 // 10, "least": 3, "best effort": 1000}
    # With 5 % of the memory each: per cent times ten, and the adjustment.
    assert [oom_score(score, GI // 2, 10 * GI) for score in scores.values()] == [0, 650, 53, 1050]
    # A container that is ended so may be restarted, where an evicted pod is not.
    nodes = Nodes(room=ROOM)
    nodes.pod(limits={"memory": "200Mi"}, annotations={MEMORY: "trace(0s=0, 5s=300Mi)"}, restartPolicy="OnFailure")
    nodes.run_for(7)
    last = nodes.container()["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"], nodes.phase()) == (137, "OOMKilled", "Running")


def test_004_good_practices() -> None:
    """good practices, DaemonSets, known issues"""
    room = {**ROOM, "memory": "10Gi"}
    nodes = configured("evictionHard: {memory.available: 500Mi}\nsystemReserved: {memory: 1.5Gi}", room)
    allocatable = nodes.get("n1", "Node")["status"]["allocatable"]["memory"]
    assert allocatable == f"{10 * 1024 - 1536 - 500}Mi"
    # Eviction begins when 95 % are used.
    nodes.pod("low", annotations={MEMORY: "trace(0s=1Gi, 30s=4Gi)"})
    nodes.pod("daemon", annotations={MEMORY: "4Gi"}, priorityClassName="high")
    nodes.patch_node({"metadata": {"annotations": {"kschedweb.io/system-memory": "1740Mi"}}})
    nodes.run_for(29)
    assert condition(nodes, "MemoryPressure") == "False"
    nodes.run_for(20)
    used = 4 * 1024 + 4 * 1024 + 1740
    assert used > 0.95 * 10 * 1024 and condition(nodes, "MemoryPressure") == "True"
    # Who has a higher priority is left: so pods of a DaemonSet are protected.
    assert (nodes.phase("low"), nodes.phase("daemon")) == ("Failed", "Running")
    guide = GUIDE.read_text()
    for told in ("Protect pods of a DaemonSet", "active_file", "comes and goes in between is not seen", "when 95 %"):
        assert told in guide


def test_004_eviction_grace() -> None:
    """eviction grace rules vs PDB"""
    ended = {}
    for kind, text in {
        "hard": "evictionHard: {memory.available: 500Mi}",
        "soft": "evictionSoft: {memory.available: 500Mi}\nevictionSoftGracePeriod: {memory.available: 10s}\n"
        "evictionMaxPodGracePeriod: 20",
        "soft, no longest": "evictionSoft: {memory.available: 500Mi}\nevictionSoftGracePeriod: {memory.available: 10s}",
    }.items():
        nodes = configured(text)
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
        manifest = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        nodes.ask(Create({**manifest, "metadata": {"name": "all", "namespace": "default"}, "spec": budget}))
        nodes.pod(
            labels={"app": "a"},
            annotations={MEMORY: "700Mi", "kschedweb.io/stop-seconds": "300"},
            terminationGracePeriodSeconds=3600,
        )
        while nodes.phase() != "Failed":
            nodes.run_for(0.5)
        ended[kind] = (nodes.now // SECOND) % 1000 - 1_893_456_000 % 1000
    # The first look is at 10 s, a soft threshold's grace is over at 20 s.
    assert ended == {"hard": 10, "soft": 40, "soft, no longest": 20}


def test_004_memcg_notification() -> None:
    """memcg notification option"""
    seen = {}
    for notices in ("false", "true"):
        nodes = configured(f"kernelMemcgNotification: {notices}")
        nodes.pod(annotations={MEMORY: "trace(0s=0, 11s=1000Mi)"})
        nodes.run_for(14)
        seen[notices] = nodes.phase()
    assert seen == {"false": "Running", "true": "Failed"}
