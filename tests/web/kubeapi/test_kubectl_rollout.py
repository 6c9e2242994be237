"""kubectl on objects that controllers from outside carry on: rollouts, and words that change a part of an object."""

from typing import Any

import pytest
import yaml

from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]
Manifest = dict[str, Any]
REVISION = "deployment.kubernetes.io/revision"
IMAGE = "jsonpath={.spec.template.spec.containers[0].image}"


def template(image: str, **labels: str) -> Manifest:
    return {"metadata": {"labels": {"app": "roll", **labels}}, "spec": {"containers": [{"name": "c", "image": image}]}}


@pytest.fixture
def deployment(kubectl: Kubectl) -> str:
    """A Deployment with two revisions, as its controller leaves it."""
    selector = {"matchLabels": {"app": "roll"}}
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "roll", "annotations": {REVISION: "2"}},
        "spec": {"replicas": 2, "selector": selector, "template": template("i:2")},
    }
    kubectl.apply(made)
    uid = kubectl("get", "deployment", "roll", "-o", "jsonpath={.metadata.uid}").stdout
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "roll", "uid": uid, "controller": True}
    sets = []
    for number, size in ((1, 0), (2, 2)):
        labels = {"app": "roll", "pod-template-hash": str(number)}
        metadata = {
            "name": f"roll-{number}",
            "labels": labels,
            "ownerReferences": [owner],
            "annotations": {REVISION: str(number), "kubernetes.io/change-cause": f"image {number}"},
        }
        spec = {
            "replicas": size,
            "selector": {"matchLabels": labels},
            "template": template(f"i:{number}", **{"pod-template-hash": str(number)}),
        }
        sets.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})
    kubectl.apply(*sets)
    return "deployment/roll"


def written(kubectl: Kubectl, name: str, **counts: int) -> None:
    """The controller's part: the status of the Deployment as it is now."""
    generation = int(kubectl("get", name, "-o", "jsonpath={.metadata.generation}").stdout)
    path = f"/apis/apps/v1/namespaces/default/{name.replace('/', 's/')}"
    kubectl.write_status(path, observedGeneration=generation, **counts)


def test_rollout_waits_for_the_status(kubectl: Kubectl, deployment: str) -> None:
    written(kubectl, deployment, replicas=3, updatedReplicas=1, readyReplicas=2, availableReplicas=2)
    with kubectl.started("rollout", "status", deployment) as waiting:
        waiting.heard("1 out of 2 new replicas have been updated")
        written(kubectl, deployment, replicas=2, updatedReplicas=2, readyReplicas=2, availableReplicas=2)
        assert "successfully rolled out" in waiting.ended()
    assert "2/2" in kubectl("get", deployment).stdout


def test_rollout_goes_back_and_begins_again(kubectl: Kubectl, deployment: str) -> None:
    history = kubectl("rollout", "history", deployment).stdout
    assert "image 1" in history and "image 2" in history
    assert "i:1" in kubectl("rollout", "history", deployment, "--revision=1").stdout
    assert "rolled back" in kubectl("rollout", "undo", deployment).stdout
    assert kubectl("get", deployment, "-o", IMAGE).stdout == "i:1"
    assert "skipped rollback" in kubectl("rollout", "undo", deployment, "--to-revision=1").stdout
    assert "restarted" in kubectl("rollout", "restart", deployment).stdout
    stamp = "jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}"
    assert kubectl("get", deployment, "-o", stamp).stdout
    assert "paused" in kubectl("rollout", "pause", deployment).stdout
    assert "resumed" in kubectl("rollout", "resume", deployment).stdout
    kubectl("set", "image", deployment, "c=i:9")
    assert kubectl("get", deployment, "-o", IMAGE).stdout == "i:9"


def test_scale_minds_the_size_it_was_told(kubectl: Kubectl, deployment: str) -> None:
    kubectl("scale", deployment, "--replicas=5")
    refused = kubectl("scale", deployment, "--current-replicas=2", "--replicas=1", code=1).stderr
    assert "Expected replicas to be 2, was 5" in refused
    kubectl("scale", deployment, "--current-replicas=5", "--replicas=4")
    assert kubectl("get", deployment, "-o", "jsonpath={.spec.replicas}").stdout == "4"


def test_edit_stores_what_the_editor_leaves(kubectl: Kubectl, deployment: str) -> None:
    edited = kubectl("edit", deployment, KUBE_EDITOR="sed -i s/i:2/i:3/")
    assert "deployment.apps/roll edited" in edited.stdout
    assert kubectl("get", deployment, "-o", IMAGE).stdout == "i:3"
    assert "no changes" in kubectl("edit", deployment, KUBE_EDITOR="true").stderr.lower()
    # What the API server refuses goes back into the editor, which leaves it so.
    refused = kubectl("edit", deployment, KUBE_EDITOR="sed -i s/^apiVersion.*/apiVersion:\\ apps\\/v9/", code=1)
    assert refused.stderr
    assert kubectl("get", deployment, "-o", IMAGE).stdout == "i:3"


def test_parts_are_set_and_taken_away(kubectl: Kubectl) -> None:
    kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "parts", "labels": {"a": "1"}}})
    node = ("node", "parts")
    assert "already has a value" in kubectl("label", *node, "a=2", code=1).stderr
    kubectl("label", *node, "a=2", "--overwrite")
    kubectl("label", *node, "b=3")
    assert kubectl("get", "nodes", "-l", "a=2,b", "-o", "name").stdout == "node/parts\n"
    assert "3" in kubectl("get", *node, "-L", "b").stdout
    kubectl("label", *node, "a-")
    kubectl("annotate", *node, "note=here")
    kubectl("annotate", *node, "note-")
    shown = yaml.safe_load(kubectl("get", *node, "-o", "yaml").stdout)
    assert shown["metadata"]["labels"] == {"b": "3"} and "note" not in shown["metadata"].get("annotations", {})
    kubectl("taint", *node, "k=v:NoSchedule", "k=v:NoExecute")
    assert "already has k taint" in kubectl("taint", *node, "k=w:NoSchedule", code=1).stderr
    kubectl("taint", *node, "k=w:NoSchedule", "--overwrite")
    taints = "jsonpath={range .spec.taints[*]}{.key}={.value}:{.effect} {end}"
    assert "k=w:NoSchedule" in kubectl("get", *node, "-o", taints).stdout
    kubectl("taint", *node, "k-")
    assert "k=" not in kubectl("get", *node, "-o", taints).stdout


def test_diff_shows_what_apply_would_change(kubectl: Kubectl, deployment: str) -> None:
    shown = yaml.safe_load((kubectl.folder / "now.yaml").read_text().split("---\n")[0])
    shown["spec"]["replicas"] = 7
    kubectl.write("other.yaml", shown)
    assert "+  replicas: 7" in kubectl("diff", "-f", "other.yaml", code=1).stdout
    assert kubectl("get", "rs", shown["metadata"]["name"], "-o", "jsonpath={.spec.replicas}").stdout != "7"


def test_fields_that_there_are_not_are_refused_by_name(kubectl: Kubectl) -> None:
    wrong = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wrong"}, "spec": {"bogus": 1, "containers": []}}
    kubectl.write("wrong.yaml", wrong)
    assert "bogus" in kubectl("create", "-f", "wrong.yaml", code=1).stderr
