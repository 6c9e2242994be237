"""A small cluster in which hardly anything is usual, as manifests: what people's clusters have besides web servers."""

from collections.abc import Iterator
from typing import Any

from tests.builders import NodeBuilder, PodBuilder, make_manifest, make_node, make_pod

LONG = "a-very-long-name-of-a-pod-which-somebody-has-generated-from-three-other-names-" * 3
WORDS = '<b onclick="alert(1)">bold</b> & \\"quoted\\" {braces} 名前 🙂'


def objects() -> Iterator[dict[str, Any]]:
    """12 nodes, what pods refer to, and more than 60 pods: bound, pending, ended, going, of nobody, of no profile."""
    for node in _nodes():
        yield node.manifest()
    yield from _others()
    for pod in (*_bound(), *_ended(), *_placed(), *_without_room(), *_held_back()):
        yield pod.manifest()


def _nodes() -> Iterator[NodeBuilder]:
    yield make_node("plain-1").zone("z1")
    yield make_node("plain-2").zone("z2")
    yield make_node("plain-3").zone("z2")
    yield make_node("no-zone")
    yield make_node("tainted").zone("z1").taint("dedicated", "batch")
    yield make_node("tainted-without-value").zone("z1").taint("only-for-tests")
    yield make_node("evicting").zone("z1").taint("node.kubernetes.io/unreachable", effect="NoExecute")
    yield make_node("cordoned").zone("z2").unschedulable()
    yield make_node("gpu").zone("z1").capacity({"example.com/gpu": "4", "hugepages-2Mi": "64Mi"})
    yield make_node("tiny").zone("z3").capacity(cpu="150m", memory="96Mi", pods="3")
    yield make_node("no-resources").zone("z3").without("cpu").without("memory")
    yield (
        make_node(f"node-{'x' * 236}.example.com", uid="long")
        .label({"kubernetes.io/hostname": "long"})
        .zone("z3")
        .taint("long-name")
    )


def _others() -> Iterator[dict[str, Any]]:
    yield make_manifest("PriorityClass", "highest", value=1_000_000_000)
    yield make_manifest("PriorityClass", "lowest", value=-2_147_483_648)
    yield make_manifest(
        "StorageClass", "late", provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer"
    )
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    yield make_manifest("PersistentVolumeClaim", "never-provisioned", spec={**spec, "storageClassName": "late"})
    yield make_manifest("PersistentVolumeClaim", "of-no-class", spec={**spec, "storageClassName": "absent"})
    yield make_manifest("PersistentVolumeClaim", "lost", spec={**spec, "storageClassName": "", "volumeName": "gone"})


def _pod(name: str, **requests: str) -> PodBuilder:
    pod = make_pod(name).image("registry.example.com/image:1")
    return pod.req(requests) if requests else pod


def _bound() -> Iterator[PodBuilder]:
    """Came with a node."""
    yield (
        make_pod("same-name", namespace="kube-system").image("i").on("plain-2").phase("Running").priority(2_000_001_000)
    )
    yield make_pod("same-name", namespace="team-a").image("i").on("plain-3").phase("Running")
    yield _pod("static-plain-1").on("plain-1").phase("Running").annotation({"kubernetes.io/config.mirror": "abc"})
    yield _pod("on-a-node-that-never-was").on("never-was").phase("Running")
    yield _pod("on-the-cordoned").on("cordoned").phase("Running").priority(-5)
    yield _pod("too-much-for-its-node", cpu="64", memory="256Gi").on("plain-2").phase("Running")
    yield _pod("unknown-phase").on("plain-2").phase("Unknown")
    yield _pod("starting").on("plain-2")
    yield _pod("fractions", cpu="1m", memory="1").on("plain-3").phase("Running")
    yield _pod("odd-quantities", cpu="0.1005", memory="1e6").on("plain-3").phase("Running")
    yield _pod("with-port-80").host_port(80).on("plain-1").phase("Running")
    yield _pod("huge-pages", **{"hugepages-2Mi": "4Mi", "memory": "1Gi"}).on("gpu").phase("Running")
    yield (
        _pod("alone-in-its-zone")
        .label(app="alone")
        .pod_affinity("topology.kubernetes.io/zone", {"app": "lonely"}, anti=True)
        .on("plain-1")
        .phase("Running")
    )
    yield _pod("of-an-unknown-controller").owner("Trainer", "big-model", api="example.com/v1").on("plain-1")
    yield _pod("labelled").label({"example.com/words": "a.b_c-d"}).annotation({"words": WORDS}).on("plain-1")
    yield _pod("two-containers").container({"cpu": "10m"}).container(limits={"memory": "64Mi"}).on("plain-3")
    yield _pod("guaranteed", cpu="100m", memory="64Mi").limit(cpu="100m", memory="64Mi").on("plain-3")


def _ended() -> Iterator[PodBuilder]:
    yield _pod("completed").on("plain-1").phase("Succeeded")
    yield _pod("failed").on("plain-1").phase("Failed").status(reason="Evicted", message=WORDS)
    yield _pod("failed-without-node", cpu="1").phase("Failed").status(reason="OutOfcpu", message="no room")
    yield _pod("completed-of-no-profile").scheduler("volcano").phase("Succeeded")


def _placed() -> Iterator[PodBuilder]:
    """Find a node."""
    yield _pod("asks-nothing")
    yield _pod("asks-zero", cpu="0", memory="0")
    yield _pod("limits-alone").limit(cpu="100m", memory="32Mi")
    yield make_pod(LONG[:253].rstrip("-"), uid="longest").image("i")
    yield _pod("x")
    yield _pod("name.with.dots-and-1")
    yield _pod("bind-to-gpu", **{"example.com/gpu": "2"})
    yield _pod("tolerates-all").toleration(operator="Exists").node_selector({"kubernetes.io/hostname": "tainted"})
    yield (
        _pod("ignores-the-cordon")
        .toleration("node.kubernetes.io/unschedulable", operator="Exists", effect="NoSchedule")
        .node_selector({"kubernetes.io/hostname": "cordoned"})
    )
    yield _pod("large-first").init_container({"cpu": "3", "memory": "1Gi"}).req(cpu="100m")
    yield _pod("with-sidecar").init_container({"cpu": "200m"}, sidecar=True).req(cpu="100m")
    yield _pod("with-overhead", cpu="100m").overhead(cpu="250m", memory="120Mi")
    yield _pod("pod-level").pod_level(cpu="300m", memory="64Mi")
    yield _pod("prefers-a-label-nobody-has").preferred_node_affinity(
        100, {"matchExpressions": [{"key": "no-such-label", "operator": "Exists"}]}
    )
    yield (
        _pod("spread-softly")
        .label(app="soft")
        .spread("topology.kubernetes.io/zone", {"app": "soft"}, when="ScheduleAnyway")
    )
    yield _pod("empty-selector").spread("kubernetes.io/hostname", {})
    yield _pod("tiny-one", cpu="100m").node_selector({"kubernetes.io/hostname": "tiny"})


def _without_room() -> Iterator[PodBuilder]:
    """Find no node, each for a reason of its own."""
    yield _pod("asks-900-cpus", cpu="900")
    yield _pod("asks-a-bit-too-much", cpu="8001m")
    yield _pod("asks-an-exbibyte", memory="1Ei")
    yield _pod("asks-what-nobody-has", **{"example.com/quantum": "1"})
    yield _pod("asks-five-gpus", **{"example.com/gpu": "5"})
    yield _pod("asks-for-disk", **{"ephemeral-storage": "1Gi"})
    yield _pod("wants-no-such-label").node_selector({"disk": "ssd"})
    yield _pod("wants-the-tainted").node_selector({"kubernetes.io/hostname": "tainted"})
    yield _pod("wants-the-cordoned").node_selector({"kubernetes.io/hostname": "cordoned"})
    yield _pod("wants-a-node-that-never-was").required_node_affinity(
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["never-was"]}]}
    )
    yield _pod("wants-greater").required_node_affinity(
        {"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["4"]}]}
    )
    yield _pod("wants-the-port").host_port(80).node_selector({"kubernetes.io/hostname": "plain-1"})
    yield _pod("lonely").label(app="lonely").node_selector({"topology.kubernetes.io/zone": "z1"})
    yield _pod("wants-company").pod_affinity("topology.kubernetes.io/zone", {"app": "nobody"})
    yield _pod("spread-hard").label(app="hard").spread("no-such-key", {"app": "hard"})
    yield _pod("without-its-claim").claim_volume("no-such-claim")
    yield _pod("claim-of-no-class").claim_volume("of-no-class")
    yield _pod("claim-never-provisioned").claim_volume("never-provisioned")
    yield _pod("claim-lost").claim_volume("lost")
    yield _pod("never-preempts", cpu="900").priority(1000).never_preempts()
    yield _pod("highest-and-too-large", cpu="900").spec(priorityClassName="highest", priority=1_000_000_000)
    yield _pod("lowest-and-too-large", cpu="900").spec(priorityClassName="lowest", priority=-2_147_483_648)
    yield _pod("nominated-to-nobody", cpu="900").nominated("never-was")
    yield _pod("with-device-claim").spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "no-such-claim"}])


def _held_back() -> Iterator[PodBuilder]:
    """Not tried."""
    yield _pod("gated").gate("example.com/quota")
    yield _pod("gated-twice").gate("example.com/quota", "example.com/budget")
    yield _pod("of-no-profile").scheduler("volcano")
    yield _pod("of-no-profile-and-gated").scheduler("yunikorn").gate("example.com/quota")
