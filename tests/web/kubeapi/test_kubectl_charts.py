"""kubectl on ten charts, as helm renders them: applied, compared, waited for, changed, owned, shown and deleted.

The charts were written for this test in the shapes that public ones have. Simulated jobs and hooks are told by an
annotation how long they run.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb.cluster.models import ApiObject, Cluster, Pod
from tests.waiting import HANG_SECONDS, eventually
from tests.web.kubeapi.conftest import repeated
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl, minor_version, needs_newer
from tests.web.scheduling.conftest import lead, settle

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]

Manifest = dict[str, Any]
FOLDER = Path(__file__).parent / "charts"
DEFINITION = "CustomResourceDefinition"
TIMEOUT = f"--timeout={HANG_SECONDS:.0f}s"
NODES = 3
SYSTEM_NAMESPACES = ("kube-node-lease", "kube-public", "kube-system")


@dataclass(frozen=True)
class Chart:
    """A file of `charts`.

    `changes`: text of it, and what stands there in the next release. `sent`: objects that kubectl sends at each apply,
    since they are never shown as the chart writes them: what is compared as a whole has defaults inside of it, or a
    quantity in another form; zeros and nulls are left out, and so is `stringData`. Selectors of budgets are always
    sent. `stays`: kinds of what is there when the chart has been deleted.
    """

    name: str
    namespace: str
    changes: Sequence[tuple[str, str]]
    sent: str
    stays: frozenset[str] = frozenset()

    def release(self, *, is_next: bool = False) -> tuple[list[Manifest], list[Manifest]]:
        """(the kinds that it defines, its objects)."""
        text = (FOLDER / f"{self.name}.yaml").read_text()
        for old, new in self.changes if is_next else ():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        manifests = list(yaml.safe_load_all(text))
        kinds = [each for each in manifests if each["kind"] == DEFINITION]
        return kinds, [each for each in manifests if each["kind"] != DEFINITION]


CHARTS = (
    Chart(
        "ingress", "ingress", [("controller:v1.12.1@", "controller:v1.12.2@"), ("maxReplicas: 11", "maxReplicas: 9")],
        "poddisruptionbudget/gate-controller deployment/gate-controller gateway/gate"
        " validatingwebhookconfiguration/gate-admission",
    ),
    Chart(
        "certificates", "certificates", [("replicas: 3", "replicas: 2"), ("size: 256", "size: 384")],
        "secret/root-ca clusterrolebinding/certs-webhook:subjectaccessreviews"
        " rolebinding/certs-cainjector:leaderelection",
    ),
    Chart(
        "monitoring", "monitoring", [("retention: 10d", "retention: 20d"), ("for: 10m", "for: 15m")],
        "service/monitoring-prometheus daemonset/monitoring-node-exporter deployment/monitoring-operator"
        " prometheus/monitoring",
    ),
    Chart(
        "broker", "messages", [("maxUnavailable: 1", "maxUnavailable: 2"), ("2c1a5e7b9d0f43a6", "2c1a5e7b9d0f43a7")],
        "networkpolicy/broker poddisruptionbudget/broker secret/broker-config service/broker statefulset/broker",
        frozenset({"PersistentVolumeClaim", "PersistentVolume"}),
    ),
    Chart(
        "database", "data", [("'@daily'", "'@weekly'"), ("pods: '20'", "pods: '25'")],
        "resourcequota/database statefulset/database-primary statefulset/database-read",
    ),
    Chart(
        "shop", "shop", [("shop/front:2.3.0", "shop/front:2.3.1"), ("maxReplicas: 20", "maxReplicas: 30")],
        "deployment/front deployment/payments poddisruptionbudget/front",
    ),
    Chart(
        "pipeline", "batch", [("report:5", "report:6"), ("pods: '30'", "pods: '31'")],
        "priorityclass/batch-low persistentvolume/pipeline-shared job/split cronjob/nightly",
    ),
    Chart(
        "logs", "logging", [("agent:3.2.10", "agent:3.2.11"), ("Precedence: 9000", "Precedence: 8000")],
        "clusterrole/logs-agent daemonset/logs priorityclass/logs-agent",
    ),
    Chart(
        "gitops", "gitops", [("branch: main", "branch: next"), ("tag: v1.0.0", "tag: v1.0.1")],
        "resourcequota/critical-pods deployment/source-controller kustomization/apps",
    ),
    Chart(
        "storage", "storage", [("csi-snapshotter:v8.2.1", "csi-snapshotter:v8.3.0"), ("a=b", "a=c")],
        "secret/disk poddisruptionbudget/csi-controller persistentvolumeclaim/restored",
        frozenset({"PersistentVolume"}),
    ),
)  # fmt: skip
DEFAULT = "ingress"  # the others take --long


@pytest.fixture(scope="module")
def host(simulated: tuple[Cluster, Kubectl]) -> Iterator[tuple[Cluster, Kubectl]]:
    """A cluster of three nodes in as many zones, where controllers and a scheduler act, and kubectl for it."""
    needs_newer()
    cluster, kubectl = simulated
    engine = lead(cluster)
    room = {"cpu": "16", "memory": "64Gi", "pods": "110", "hugepages-2Mi": "1Gi", "ephemeral-storage": "99Gi"}
    nodes: list[Manifest] = []
    for number in range(NODES):
        labels = {
            "kubernetes.io/os": "linux", "kubernetes.io/hostname": f"n{number}",
            "topology.kubernetes.io/zone": f"zone-{number}",
        }  # fmt: skip
        status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"name": f"n{number}", "labels": labels}
        nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})
    default = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "host.otters.example",
    }
    kubectl.write("cluster.yaml", *nodes, default)
    with repeated(lambda: settle(engine)):
        kubectl("apply", "-f", "cluster.yaml")
        made = {given for name in ("default", *SYSTEM_NAMESPACES) for given in given_to(name)}
        eventually(lambda: made <= there(cluster), lambda: made - there(cluster))
        yield cluster, kubectl


@pytest.mark.parametrize(
    "chart",
    [
        pytest.param(each, id=each.name, marks=() if each.name == DEFAULT else pytest.mark.slow)
        for each in CHARTS
    ],
)  # fmt: skip
def test_a_chart_is_applied_changed_shown_and_deleted(chart: Chart, host: tuple[Cluster, Kubectl]) -> None:
    cluster, kubectl = host
    kubectl.forget_kinds()  # those of the chart before
    before = there(cluster)
    kinds, objects = chart.release()
    _, following = chart.release(is_next=True)
    changing = [old for old, new in zip(objects, following, strict=True) if old != new]
    for file, manifests in (
        ("kinds.yaml", kinds), ("now.yaml", objects), ("next.yaml", following), ("changing.yaml", changing),
        ("described.yaml", [each for each in following if is_described(each)]),
    ):  # fmt: skip
        kubectl.write(file, *manifests)

    kubectl("create", "namespace", chart.namespace)
    if kinds:
        define_kinds(kubectl, kinds)
    install(kubectl, chart, objects)
    change(kubectl, chart, following, {named(each) for each in changing})
    own(kubectl, following, len(changing))
    kubectl("get", "all", "-n", chart.namespace)
    kubectl("describe", "-f", "described.yaml")

    told = outcomes(kubectl("delete", "-f", "next.yaml", TIMEOUT).stdout.replace(' "', "/").replace('"', ""))
    assert told.keys() == {named(each) for each in objects}
    if kinds:
        kubectl("delete", "-f", "kinds.yaml", TIMEOUT)
    left = before | {("Namespace", "", chart.namespace)} | given_to(chart.namespace)
    eventually(lambda: {kind for kind, *_ in there(cluster) - left} == chart.stays, lambda: there(cluster) - left)
    kubectl("delete", "namespace", chart.namespace, TIMEOUT)
    volumes = [f"persistentvolume/{name}" for kind, _, name in there(cluster) - before if kind == "PersistentVolume"]
    if volumes:
        kubectl("delete", "--ignore-not-found", *volumes, TIMEOUT)
    eventually(lambda: there(cluster) == before, lambda: there(cluster) ^ before)


def define_kinds(kubectl: Kubectl, kinds: Sequence[Manifest]) -> None:
    names = [named(each) for each in kinds]
    assert outcomes(kubectl("apply", "-f", "kinds.yaml").stdout) == dict.fromkeys(names, "created")
    kubectl("wait", "--for=condition=Established", "-f", "kinds.yaml", TIMEOUT)
    assert outcomes(kubectl("apply", "-f", "kinds.yaml").stdout) == dict.fromkeys(names, "unchanged")
    kubectl("diff", "-f", "kinds.yaml")


def install(kubectl: Kubectl, chart: Chart, objects: Sequence[Manifest]) -> None:
    names = [named(each) for each in objects]
    tried = kubectl("create", "--dry-run=server", "-f", "now.yaml").stdout
    assert outcomes(tried) == dict.fromkeys(names, "created (server dry run)")
    assert outcomes(kubectl("apply", "-f", "now.yaml").stdout) == dict.fromkeys(names, "created")
    again = outcomes(kubectl("apply", "-f", "now.yaml").stdout)
    assert {name for name, outcome in again.items() if outcome != "unchanged"} == set(chart.sent.split())
    find_no_difference(kubectl, "-f", "now.yaml")
    become_ready(kubectl, chart.namespace, objects)


def change(kubectl: Kubectl, chart: Chart, following: Sequence[Manifest], changing: set[str]) -> None:
    """The next release is shown by its lines, and applied."""
    lines = kubectl("diff", "-f", "next.yaml", code=1).stdout.replace('"', "'").splitlines()
    for texts in chart.changes:
        for sign, text in zip("-+", texts, strict=True):
            assert any(line.startswith(sign) and text in line for line in lines), lines
    configured = outcomes(kubectl("apply", "-f", "next.yaml").stdout)
    assert {name for name, outcome in configured.items() if outcome == "configured"} == changing | {*chart.sent.split()}
    become_ready(kubectl, chart.namespace, following)


def own(kubectl: Kubectl, following: Sequence[Manifest], changes: int) -> None:
    """Fields go over to who applies on the server's side, and others meet a conflict about them."""
    names = [named(each) for each in following]
    applied = kubectl("apply", "--server-side", "--force-conflicts", "-f", "next.yaml").stdout
    assert outcomes(applied) == dict.fromkeys(names, "serverside-applied")
    find_no_difference(kubectl, "--server-side", "-f", "next.yaml")
    clash = kubectl("apply", "--server-side", "--field-manager=other", "-f", "changing.yaml", code=1).stderr
    assert clash.count("Apply failed with") == changes
    shown = json.loads(kubectl("get", "-f", "next.yaml", "-o", "json", "--show-managed-fields").stdout)["items"]
    owners = {
        named(each): {(entry["manager"], entry["operation"]) for entry in each["metadata"]["managedFields"]}
        for each in shown
    }
    assert owners == dict.fromkeys(names, {("kubectl", "Apply"), ("kubectl-last-applied", "Apply")})


def find_no_difference(kubectl: Kubectl, *words: str) -> None:
    """Wait until `diff` finds none: while pods start, controllers write statuses between its two reads."""

    def is_same() -> bool:
        try:
            kubectl("diff", *words)
        except AssertionError:
            return False
        return True

    eventually(is_same, lambda: kubectl("diff", *words))


def become_ready(kubectl: Kubectl, namespace: str, objects: Sequence[Manifest]) -> None:
    """Wait until workloads have their pods and jobs their end."""
    wanted = defaultdict(list)
    for each in objects:
        spec = each.get("spec", {})
        if each["kind"] == "Deployment":
            wanted["condition=Available"].append(named(each))
        elif each["kind"] == "StatefulSet":
            wanted[f"jsonpath={{.status.availableReplicas}}={spec['replicas']}"].append(named(each))
        elif each["kind"] == "DaemonSet":
            wanted[f"jsonpath={{.status.numberAvailable}}={NODES}"].append(named(each))
        elif each["kind"] == "Job" and "annotations" in spec["template"]["metadata"]:
            wanted["condition=Complete"].append(named(each))
    for condition, names in wanted.items():
        kubectl("wait", "-n", namespace, f"--for={condition}", *names, TIMEOUT)


def is_described(manifest: Manifest) -> bool:
    """Before 1.34, kubectl asks for a VolumeAttributesClass by its beta version, which the API server has off."""
    return manifest["kind"] != "VolumeAttributesClass" or minor_version() >= 34


def named(manifest: Manifest) -> str:
    return f"{manifest['kind'].lower()}/{manifest['metadata']['name']}"


def outcomes(told: str) -> dict[str, str]:
    """What kubectl says of each object, `deployment.apps/front created`; groups are left out."""
    found = {}
    for line in told.splitlines():
        name, _, outcome = line.partition(" ")
        kind, _, rest = name.partition("/")
        found[f"{kind.partition('.')[0]}/{rest}"] = outcome
    return found


def given_to(namespace: str) -> set[tuple[str, str, str]]:
    """What controllers give to every namespace."""
    return {("ServiceAccount", namespace, "default"), ("ConfigMap", namespace, "kube-root-ca.crt")}


def there(cluster: Cluster) -> set[tuple[str, str, str]]:
    """Kind, namespace and name of all that is stored, but for nodes, and events, which stay for an hour."""
    objects = ApiObject.objects.filter(cluster=cluster).exclude(kind="Event").values_list("kind", "namespace", "name")
    pods = Pod.objects.filter(cluster=cluster).values_list("namespace", "name")
    return {*objects, *(("Pod", *each) for each in pods)}
