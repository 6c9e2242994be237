"""deploy/kubernetes on a simulated cluster: placed, spread over zones, and drained node by node without a gap."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator

import orjson
import pytest
import yaml

from kschedweb import environment
from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.ops import worker
from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.conftest import Served, repeated
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl
from tests.web.scheduling.conftest import lead, settle

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]

FOLDER = ROOT / "deploy" / "kubernetes"
DEPLOYED = ("web", "worker-scheduler", "worker-binding", "worker-lifecycle")
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def kubectl(simulated: tuple[Cluster, Kubectl]) -> Iterator[Kubectl]:
    """For a cluster of six nodes in three zones, where controllers and a scheduler act."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{i}", "labels": {ZONE: f"zone-{i % 3}", "kubernetes.io/hostname": f"n{i}"}},
            "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for i in range(6)
    ]
    cluster, made = simulated
    host = lead(cluster)
    with repeated(lambda: settle(host)):
        made.apply(*nodes)
        yield made


def _overlay(kubectl: Kubectl) -> None:
    """As somebody would write one. Simulated pods run for ever unless they are told for how long."""
    run = {"op": "add", "path": "/spec/template/metadata/annotations", "value": {"kschedweb.io/run-seconds": "1"}}
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(FOLDER, kubectl.folder)],
        "images": [{"name": "kschedweb", "newName": "registry.example.org/kschedweb", "newTag": "1.2"}],
        "patches": [{"target": {"kind": "Job"}, "patch": yaml.safe_dump([run])}],
    }
    kubectl.write("kustomization.yaml", overlay)


def test_it_is_placed_spread_over_zones_and_drained_without_a_gap(kubectl: Kubectl, served: Served) -> None:
    _overlay(kubectl)
    kubectl("apply", "-k", ".")
    kubectl("-n", "kschedweb", "wait", "--for=condition=complete", "job/migrations", f"--timeout={HANG_SECONDS:.0f}s")
    rolled = [f"deployment/{name}" for name in (*DEPLOYED, "beat")]
    for name in rolled:
        kubectl("-n", "kschedweb", "rollout", "status", name, f"--timeout={HANG_SECONDS:.0f}s")
    assert "unchanged" in kubectl("apply", "-k", ".").stdout
    for name in DEPLOYED:
        assert len(_zones(kubectl, name)) == 2, f"{name} is in one zone"

    available: dict[str, list[int]] = {name: [] for name in DEPLOYED}

    def look() -> None:
        path = "/k8s/lively/apis/apps/v1/namespaces/kschedweb/deployments"
        answer = served.web.ask("GET", path, b"", Authorization=f"Bearer {served.admin}")
        for each in orjson.loads(answer.body)["items"]:
            if (name := each["metadata"]["name"]) in available:
                available[name].append(each["status"].get("availableReplicas", 0))

    with repeated(look):
        for number in range(6):
            kubectl("drain", f"n{number}", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=170s")
            kubectl("uncordon", f"n{number}")
    assert {name: min(counts) >= 1 for name, counts in available.items()} == dict.fromkeys(DEPLOYED, True)
    for name in rolled:
        kubectl("-n", "kschedweb", "rollout", "status", name, f"--timeout={HANG_SECONDS:.0f}s")


def _zones(kubectl: Kubectl, name: str) -> Counter[str]:
    """How many pods of the Deployment each zone has."""
    nodes = "jsonpath={range .items[*]}{.spec.nodeName}{'\\n'}{end}"
    words = ("-n", "kschedweb", "get", "pods", "-l", f"app.kubernetes.io/component={name}", "-o", nodes)
    return Counter(f"zone-{int(node.removeprefix('n')) % 3}" for node in kubectl(*words).stdout.split())


def test_it_says_what_the_code_reads() -> None:
    made = list(yaml.safe_load_all(_built()))
    ours = {each["metadata"]["name"]: each for each in made if each["kind"] in ("Deployment", "Job")}
    kinds = {"beat" if kind == "beat" else f"worker-{kind}" for kind in worker.KINDS}
    assert set(ours) == {"web", "migrations", *kinds}
    config = next(each["data"] for each in made if each["kind"] == "ConfigMap")
    known = set(environment.variables())
    assert set(config) <= known
    grace = environment.Environment.model_fields["renew_deadline_seconds"].default
    for name, each in ours.items():
        spec = each["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert {one["name"] for one in container.get("env", ())} <= known
        kind = name.removeprefix("worker-")
        if kind in worker.KINDS:
            assert container["command"] == ["python", "-m", "kschedweb.ops.worker", kind]
        if each["kind"] == "Deployment":
            assert spec["terminationGracePeriodSeconds"] > grace
            assert [one["name"] for one in spec["initContainers"]] == ["migrated"], "it waits for its tables"
        assert {"limits", "requests"} <= set(container["resources"])


def _built() -> str:

    words = ["kubectl", "kustomize", str(FOLDER)]
    return subprocess.run(words, capture_output=True, text=True, timeout=HANG_SECONDS, check=True).stdout
