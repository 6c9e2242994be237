"""The real kubectl against the service, where there is one."""

import re

import pytest
import yaml

from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl, is_newer, needs_newer

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]

PODS = "/api/v1/namespaces/default/pods"
CONTAINERS = [{"name": "c", "image": "i:1"}]
APP = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "9"}}},
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"app": "w"}},
        "spec": {"schedulerName": "x", "nodeName": "n1", "containers": CONTAINERS},
    },
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "w"}}},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "r"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "r"}},
            "template": {"metadata": {"labels": {"app": "r"}}, "spec": {"containers": CONTAINERS}},
        },
    },
]


@pytest.fixture(autouse=True, scope="module")
def _files(kubectl: Kubectl) -> None:
    """Every test may read app.yaml."""
    kubectl.write("app.yaml", *APP)


def test_objects_live_as_kubectl_wants_them_to(kubectl: Kubectl) -> None:
    assert "pod/a created" in kubectl("apply", "-f", "app.yaml").stdout
    assert "pod/a unchanged" in kubectl("apply", "-f", "app.yaml").stdout
    kubectl("diff", "-f", "app.yaml")
    assert "NOMINATED NODE" in kubectl("get", "pods", "-o", "wide").stdout
    assert kubectl("get", "pod", "a", "-o", "jsonpath={.spec.nodeName}").stdout == "n1"
    assert yaml.safe_load(kubectl("get", "pod", "a", "-o", "yaml").stdout)["kind"] == "Pod"
    assert "n1/" in kubectl("describe", "pod", "a").stdout
    kubectl("label", "pod", "a", "x=y")
    assert "a" in kubectl("get", "pods", "-l", "x=y", "-o", "name").stdout
    kubectl("taint", "node", "n1", "k=v:NoSchedule")
    kubectl("cordon", "n1")
    assert "SchedulingDisabled" in kubectl("get", "nodes").stdout
    kubectl("scale", "rs", "r", "--replicas=3")
    assert kubectl("get", "rs", "r", "-o", "jsonpath={.spec.replicas}").stdout == "3"
    assert re.search(r"FIELD: +image <string>", kubectl("explain", "pod.spec.containers.image").stdout)
    assert "map[string]string" in kubectl("explain", "pod.spec.nodeSelector").stdout
    assert "schedule" in kubectl("explain", "cj.spec").stdout
    assert kubectl("auth", "can-i", "create", "pods").stdout.strip() == "yes"
    assert "deployments" in kubectl("api-resources").stdout
    assert "yes" not in kubectl("auth", "can-i", "get", "pods", "--as=nobody", code=1).stdout


def test_drain_respects_budgets_and_wait_sees_the_end(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "app.yaml")
    kubectl.write_status(f"{PODS}/a", phase="Running", conditions=[{"type": "Ready", "status": "True"}])
    # No controller counts here; the budget is told that nobody may go.
    counted = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}
    kubectl.write_status("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b", **counted)
    with kubectl.started("drain", "n1", "--force", "--grace-period=0") as draining:
        draining.heard("disruption budget")
    kubectl("delete", "pdb", "b")
    kubectl("delete", "pod", "a", "--grace-period=0", "--force")
    needs_newer()  # the old one refuses to wait for what is gone
    kubectl("wait", "--for=delete", "pod/a", f"--timeout={HANG_SECONDS:.0f}s")


# Generators of kubectl send protobuf.
GENERATED = [
    (("namespace", "made"), "namespace/made created"),
    (("deployment", "web", "--image=i:1", "--replicas=2", "--port=80"), "deployment.apps/web created"),
    (("service", "clusterip", "web", "--tcp=80:8080"), "service/web created"),
    (("job", "once", "--image=i:1", "--", "sh", "-c", "true"), "job.batch/once created"),
    (("quota", "q", "--hard=cpu=2,pods=3"), "resourcequota/q created"),
    (("priorityclass", "high", "--value=1000", "--description=d"), "priorityclass.scheduling.k8s.io/high created"),
    (("configmap", "c", "--from-literal=a=b"), "configmap/c created"),
    (("secret", "generic", "s", "--from-literal=a=b"), "secret/s created"),
    (("serviceaccount", "sa"), "serviceaccount/sa created"),
    (("cronjob", "cj", "--image=i:1", "--schedule=*/5 * * * *"), "cronjob.batch/cj created"),
    (("pdb", "p", "--selector=app=web", "--min-available=50%"), "poddisruptionbudget.policy/p created"),
]


def test_generators_make_objects(kubectl: Kubectl) -> None:
    known = [(words, shown) for words, shown in GENERATED if words[0] not in ("cronjob", "pdb") or is_newer()]
    told = {shown: kubectl("create", *words, "--validate=false").stdout.strip() for words, shown in known}
    assert told == {shown: shown for _, shown in known}
    names = [f"{words[0]}/{words[2 if words[0] in ('service', 'secret') else 1]}" for words, _ in known]
    kubectl("delete", *names, "--wait=false")  # nobody empties namespaces here


def test_what_a_generator_says_is_stored(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "kept", "--image=i:1", "--replicas=2")
    wanted = "jsonpath={.spec.replicas} {.spec.selector.matchLabels.app} {.spec.template.spec.containers[0].image}"
    assert kubectl("get", "deployment", "kept", "-o", wanted).stdout == "2 kept i:1"
    kubectl("delete", "deployment", "kept")


def test_server_side_apply_knows_owners_and_conflicts(kubectl: Kubectl) -> None:
    needs_newer()
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "owned"}}
    for number in (1, 2):
        kubectl.write(f"b{number}.yaml", {**budget, "spec": {"minAvailable": number}})
    apply = ("apply", "--server-side", "-f")
    assert "serverside-applied" in kubectl(*apply, "b1.yaml", "--field-manager=one").stdout
    kubectl("diff", "--server-side", "-f", "b1.yaml", "--field-manager=one")
    refused = kubectl(*apply, "b2.yaml", "--field-manager=two", code=1).stderr
    assert 'conflict with "one": .spec.minAvailable' in refused
    differs = kubectl("diff", "--server-side", "--force-conflicts", "-f", "b2.yaml", "--field-manager=two", code=1)
    assert "+  minAvailable: 2" in differs.stdout
    kubectl(*apply, "b2.yaml", "--field-manager=two", "--force-conflicts")
    shown = yaml.safe_load(kubectl("get", "pdb", "owned", "-o", "yaml", "--show-managed-fields").stdout)
    assert shown["spec"]["minAvailable"] == 2
    assert [each["manager"] for each in shown["metadata"]["managedFields"]] == ["two"]
    assert "managedFields" not in kubectl("get", "pdb", "owned", "-o", "yaml").stdout
    kubectl("delete", "pdb", "owned")


def test_apply_moves_from_the_client_to_the_server(kubectl: Kubectl) -> None:
    needs_newer()
    kubectl.apply({**APP[1], "metadata": {"name": "moved", "labels": {"a": "1"}}})
    kubectl.write("pod.yaml", {**APP[1], "metadata": {"name": "moved", "labels": {"b": "1"}}})
    kubectl("apply", "--server-side", "-f", "pod.yaml")
    shown = yaml.safe_load(kubectl("get", "pod", "moved", "-o", "yaml", "--show-managed-fields").stdout)
    assert shown["metadata"]["labels"] == {"b": "1"}  # kubectl itself moves what it owned
    managers = {each["manager"]: each["operation"] for each in shown["metadata"]["managedFields"]}
    assert managers == {"kubectl": "Apply", "kubectl-last-applied": "Apply"}
    kubectl("apply", "-f", "pod.yaml")
    assert "unchanged" in kubectl("apply", "-f", "pod.yaml").stdout
    kubectl("delete", "pod", "moved", "--grace-period=0", "--force")


def test_the_everyday_words_of_kubectl(kubectl: Kubectl) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "day"}}
    pods = [{**APP[1], "metadata": {"name": name, "labels": {"day": name}}} for name in ("d1", "d2", "d3")]
    kubectl.write("day.yaml", node, *pods)
    assert "pod/d3 created" in kubectl("create", "-f", "day.yaml").stdout
    assert "already exists" in kubectl("create", "-f", "day.yaml", code=1).stderr
    columns = "custom-columns=N:.metadata.name,P:.status.phase"
    assert kubectl("get", "pod", "d1", "-o", columns).stdout.split() == ["N", "P", "d1", "Pending"]
    listed = kubectl("get", "pods", "-l", "day in (d1,d2,d3)", "--chunk-size=1", "-o", "name").stdout.split()
    assert listed == ["pod/d1", "pod/d2", "pod/d3"]
    assert kubectl("get", "pods", "--field-selector=metadata.name=d2", "-o", "name").stdout == "pod/d2\n"
    kubectl("annotate", "pod", "d1", "note=1")
    kubectl("patch", "pod", "d1", "--type=json", "-p", '[{"op": "add", "path": "/metadata/labels/j", "value": "1"}]')
    shown = yaml.safe_load(kubectl("get", "pod", "d1", "-o", "yaml").stdout)
    assert shown["metadata"]["annotations"] == {"note": "1"} and shown["metadata"]["labels"]["j"] == "1"
    shown["metadata"]["labels"]["replaced"] = "yes"
    kubectl.write("d1.yaml", shown)
    assert "pod/d1 replaced" in kubectl("replace", "-f", "d1.yaml").stdout
    assert "Conflict" in kubectl("replace", "-f", "d1.yaml", code=1).stderr
    kubectl("cordon", "day")
    assert "Unschedulable:" in kubectl("describe", "node", "day").stdout
    assert "uncordoned" in kubectl("uncordon", "day").stdout
    kubectl.write_status(f"{PODS}/d1", conditions=[{"type": "Ready", "status": "True"}])
    assert (
        "condition met" in kubectl("wait", "--for=condition=Ready", "pod/d1", f"--timeout={HANG_SECONDS:.0f}s").stdout
    )
    assert "Metrics API not available" in kubectl("top", "pods", code=1).stderr
    kubectl("delete", "-f", "day.yaml", "--grace-period=0", "--force")
    assert kubectl("get", "pods", "-l", "day", "-o", "name").stdout == ""
