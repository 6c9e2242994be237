"""kubectl on a chart of kinds that scheduling does not read: they are kept, told apart, shown and deleted."""

import json

import pytest

from kschedweb.cluster.models import ApiObject, Cluster
from scheduler_core.apiserver.kinds import KINDS
from tests.core.apiserver.kept_samples import OBJECTS
from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl, needs_newer

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]

CHART = [
    {
        "apiVersion": KINDS[kind].cls.api_version,
        "kind": kind,
        "metadata": {"name": f"web-{kind.lower()}", "labels": {"app": "web"}},
        **parts,
    }
    for kind, (parts, _) in OBJECTS.items()
]
# Defaults stand inside of their lists, so kubectl sends these lists each time, which changes nothing.
CONFIGURED = {
    f"{kind} configured"
    for kind in (
        "rolebinding", "clusterrolebinding", "networkpolicy", "mutatingwebhookconfiguration",
        "validatingwebhookconfiguration", "validatingadmissionpolicy",
    )
}  # fmt: skip
OF_POLICIES = [
    f"Warning: {kind} web-{kind.lower()} is kept, and not evaluated: requests to this cluster are admitted without it"
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
]
ALL = ",".join(KINDS[kind].cls.plural for kind in OBJECTS)


@pytest.fixture(scope="module")
def chart(kubectl: Kubectl) -> Kubectl:
    needs_newer()
    kubectl.write("chart.yaml", *CHART)
    labels = {"app": "web", "v": "2"}
    kubectl.write("changed.yaml", *({**one, "metadata": {**one["metadata"], "labels": labels}} for one in CHART))
    return kubectl


def test_a_chart_of_them_is_applied_compared_shown_and_deleted(chart: Kubectl) -> None:
    applied = chart("apply", "-f", "chart.yaml")
    assert applied.stdout.count(" created\n") == len(CHART)
    assert "ClusterRole web-clusterrole is kept, and grants nothing" in applied.stderr
    assert (
        "ValidatingWebhookConfiguration web-validatingwebhookconfiguration is kept, and never called" in applied.stderr
    )
    assert all(told in applied.stderr for told in OF_POLICIES)
    again = chart("apply", "-f", "chart.yaml").stdout.splitlines()
    assert {line.split("/web-")[1] for line in again if " unchanged" not in line} == CONFIGURED
    chart("diff", "-f", "chart.yaml")
    assert '+    v: "2"' in chart("diff", "-f", "changed.yaml", code=1).stdout
    configured = chart("apply", "-f", "changed.yaml")
    assert configured.stdout.count(" configured\n") == len(CHART)
    assert all(told in configured.stderr for told in OF_POLICIES)
    shown = chart("get", ALL, "-l", "v=2").stdout
    assert all(f"web-{kind.lower()}" in shown for kind in OBJECTS)
    assert chart("get", "hpa", "--no-headers").stdout.split()[1:4] == ["Deployment/web", "cpu:", "<unknown>/80%"]
    assert chart("get", "netpol").stdout.split()[:3] == ["NAME", "POD-SELECTOR", "AGE"]
    assert "80, 443" in chart("get", "ing").stdout
    chart("annotate", "ingress", "web-ingress", "a=b")
    patch = '[{"op":"replace","path":"/spec/maxReplicas","value":7}]'
    chart("patch", "hpa", "web-horizontalpodautoscaler", "--type=json", "-p", patch)
    assert "pathType" in chart("explain", "ingress.spec.rules.http.paths").stdout
    found = json.loads(chart("get", "hpa", "web-horizontalpodautoscaler", "-o", "json").stdout)
    assert found["spec"]["maxReplicas"] == 7
    assert chart("delete", "-f", "chart.yaml").stdout.count("deleted") == len(CHART)
    assert chart("get", ALL, "-l", "app=web").stdout == ""


def test_a_chart_of_them_is_applied_by_the_server(chart: Kubectl) -> None:
    applied = chart("apply", "--server-side", "-f", "chart.yaml")
    assert applied.stdout.count("serverside-applied") == len(CHART)
    assert all(told in applied.stderr for told in OF_POLICIES)
    chart("diff", "--server-side", "-f", "chart.yaml")
    hook = next(one for one in CHART if one["kind"] == "ValidatingWebhookConfiguration")
    second = {**hook, "webhooks": [{**hook["webhooks"][0], "name": "other.otters.example"}]}
    chart.write("second.yaml", second)
    chart("apply", "--server-side", "--field-manager=other", "-f", "second.yaml")
    found = json.loads(chart("get", "validatingwebhookconfigurations", hook["metadata"]["name"], "-o", "json").stdout)
    assert len(found["webhooks"]) == 2  # each manager has its own, by their names
    chart("delete", "-f", "chart.yaml")


def test_what_kubectl_makes_of_its_own_words(chart: Kubectl) -> None:
    chart("create", "role", "reader", "--verb=get,list", "--resource=pods")
    chart("create", "rolebinding", "reading", "--role=reader", "--user=ada")
    chart("create", "clusterrole", "system:reader", "--verb=get", "--resource=nodes")
    chart("create", "clusterrolebinding", "all", "--clusterrole=system:reader", "--group=crew")
    chart("create", "ingress", "simple", "--rule=a.example/=web:80")
    assert "reading" in chart("get", "rolebindings", "-o", "wide").stdout
    assert "ada" in chart("describe", "rolebinding", "reading").stdout
    assert "a.example" in chart("describe", "ingress", "simple").stdout
    listed = chart("api-resources", "--categories=api-extensions", "-o", "name").stdout
    assert "apiservices.apiregistration.k8s.io" in listed
    chart.write("wrong.yaml", {**CHART[0], "rules": [{"verb": ["get"]}]})
    refused = chart("apply", "-f", "wrong.yaml", code=1)
    assert 'unknown field "rules[0].verb"' in refused.stderr
    chart("delete", "role/reader", "rolebinding/reading", "clusterrole/system:reader", "clusterrolebinding/all")
    chart("delete", "ingress", "simple")


def test_they_go_with_their_namespace(simulated: tuple[Cluster, Kubectl]) -> None:
    cluster, kubectl = simulated
    kept = ApiObject.objects.filter(cluster=cluster, kind__in=OBJECTS).values_list("name", flat=True)
    kubectl("create", "namespace", "den")
    kubectl("create", "role", "reader", "-n", "den", "--verb=get", "--resource=pods")
    kubectl("create", "rolebinding", "reading", "-n", "den", "--role=reader", "--user=ada")
    assert sorted(kept.all()) == ["reader", "reading"]
    kubectl("delete", "namespace", "den", f"--timeout={HANG_SECONDS:.0f}s")
    assert list(kept.all()) == []
