"""kubectl on a chart that defines kinds: their objects are applied, compared, shown by their columns, and deleted."""

import json

import pytest

from kschedweb.cluster.models import ApiObject, Cluster
from tests.core.apiserver.custom_samples import DENS, RIVERS, den, river
from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl, needs_newer

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]

OBJECTS = [den("deep", rooms=[{"name": "a", "size": 1}]), river("long", water={"cold": True})]


def test_a_chart_that_defines_kinds_is_applied_compared_shown_and_deleted(kubectl: Kubectl) -> None:
    needs_newer()
    files = {
        "kinds.yaml": [DENS, RIVERS], "objects.yaml": OBJECTS, "changed.yaml": [den("deep", depth=3)],
        "other.yaml": [{**den("deep"), "spec": {"rooms": [{"name": "b"}]}}],
        "wrong.yaml": [den("wrong", depth=0, mood="angry")], "unknown.yaml": [den("unknown", otter=1)],
    }  # fmt: skip
    for name, content in files.items():
        kubectl.write(name, *content)
    assert kubectl("apply", "-f", "kinds.yaml").stdout.count(" created\n") == 2
    kubectl("wait", "--for=condition=Established", "crd/dens.otters.example", f"--timeout={HANG_SECONDS:.0f}s")
    assert kubectl("apply", "-f", "objects.yaml").stdout.count(" created\n") == 2
    again = kubectl("apply", "-f", "kinds.yaml", "-f", "objects.yaml")
    assert again.stdout.count(" unchanged\n") == 4
    assert "+  depth: 3" in kubectl("diff", "-f", "changed.yaml", code=1).stdout
    assert kubectl("apply", "-f", "changed.yaml").stdout.count(" configured\n") == 1
    kubectl("scale", "den", "deep", "--replicas=4")
    patch = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl("patch", "den", "deep", "--subresource=status", "--type=merge", "-p", patch)
    shown = kubectl("get", "dn").stdout.splitlines()
    assert shown[0].split() == ["NAME", "DEPTH", "MOOD", "READY", "AGE"]
    assert shown[1].split()[:4] == ["deep", "3", "glad", "True"]
    assert "depth" in kubectl("explain", "dens.spec").stdout
    assert "dens.otters.example" in kubectl("api-resources", "-o", "name", "--categories=otters").stdout

    applied = kubectl("apply", "--server-side", "--force-conflicts", "-f", "kinds.yaml", "-f", "objects.yaml")
    assert applied.stdout.count("serverside-applied") == 4
    kubectl("diff", "--server-side", "-f", "objects.yaml")
    kubectl("apply", "--server-side", "--field-manager=other", "-f", "other.yaml")
    found = json.loads(kubectl("get", "den", "deep", "-o", "json").stdout)
    assert [room["name"] for room in found["spec"]["rooms"]] == ["a", "b"]
    assert found["spec"]["replicas"] == 4
    clash = kubectl("apply", "--server-side", "--field-manager=third", "-f", "changed.yaml", code=1)
    assert "conflict" in clash.stderr

    told = kubectl("create", "-f", "wrong.yaml", code=1).stderr
    assert "spec.depth in body should be greater than or equal to 1" in told
    assert 'spec.mood: Unsupported value: "angry": supported values: "glad", "sad"' in told
    assert 'unknown field "spec.otter"' in kubectl("create", "-f", "unknown.yaml", code=1).stderr

    kubectl("delete", "-f", "kinds.yaml", f"--timeout={HANG_SECONDS:.0f}s")
    assert not ApiObject.objects.filter(kind__endswith=".otters.example").exists()
    assert "dens" not in kubectl("api-resources", "-o", "name").stdout


def test_objects_go_with_their_namespace(simulated: tuple[Cluster, Kubectl]) -> None:
    cluster, kubectl = simulated
    kubectl.write("den.yaml", den("deep"))
    kubectl("create", "namespace", "bank")
    kubectl.apply(DENS)
    kubectl("apply", "-n", "bank", "-f", "den.yaml")
    kubectl("delete", "namespace", "bank", f"--timeout={HANG_SECONDS:.0f}s")
    assert not ApiObject.objects.filter(cluster=cluster, kind="Den.otters.example").exists()
