"""The engine of a mirror decides beside the other scheduler, nothing is written, and everything else is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import zstandard

from kschedweb.accounts import services as account_services
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change, Cluster, Pod
from kschedweb.kubeapi import access, answering
from kschedweb.kubeapi.exchange import Answer, RefusedError, Request
from kschedweb.mirror import forking, services
from kschedweb.mirror.services import Copied
from kschedweb.scheduling.checkpoints import checkpoint_want
from kschedweb.scheduling.models import Binding, EngineState, Eviction
from kschedweb.traces.models import Attempt, Checkpoint, Comparison, QueueState
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.web import rest
from tests.web.mirror.conftest import kubeconfig
from tests.web.scheduling.conftest import lead

pytestmark = pytest.mark.django_db(transaction=True)
CREATED = "2026-01-01T00:00:00Z"


def node(name: str, **capacity: str) -> dict[str, Any]:
    return make_node(name).capacity(pods="110", **{"cpu": "8", **capacity}).created(CREATED).manifest()


def pod(name: str, *, cpu: str = "1", on: str = "", scheduler: str = "default-scheduler") -> dict[str, Any]:
    made = make_pod(name).req(cpu=cpu).created(CREATED).spec(schedulerName=scheduler)
    return (made.on(on) if on else made).manifest()


class Mirrored:
    """A mirror whose source is played by the test."""

    def __init__(self, **given: Any) -> None:
        content = kubeconfig(1, "elsewhere", "t")
        self.cluster = services.mirror_start(name="mirror", content=content, actor="t", **given)
        (self.held,) = services.mirrors_take(holder="t")
        self.host = lead(self.cluster)

    def came(self, *manifests: dict[str, Any], is_synced: bool | None = None) -> None:
        copied = [Copied(each) for each in manifests]
        services.batch_store(held=self.held, copied=copied, positions={}, is_synced=is_synced)

    def decided(self, *manifests: dict[str, Any], is_synced: bool | None = None) -> None:
        """These came, and what there was to decide was decided."""
        self.came(*manifests, is_synced=is_synced)
        self.decide()

    def decide(self) -> None:
        """Take in what came, until no decision is open."""
        while (outcome := self.host.step()).changes or (outcome.due_in is not None and outcome.due_in < 0.2):
            time.sleep(outcome.due_in or 0)

    def comparison(self, name: str) -> Comparison:
        return Comparison.objects.get(cluster=self.cluster, name=name)


@pytest.fixture
def mirrored(patient_fence: None) -> Iterator[Mirrored]:
    yield Mirrored()


def test_nothing_is_decided_before_all_objects_are_here(mirrored: Mirrored) -> None:
    mirrored.decided(pod("p"))
    assert not Attempt.objects.filter(cluster=mirrored.cluster).exists()
    mirrored.decided(node("n1"), is_synced=True)
    assert Attempt.objects.get(cluster=mirrored.cluster).result == "proposed"


def test_engine_is_made_when_all_objects_are_here_and_takes_changes_in_small_steps(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.scheduling.runner.host.MOST_COMPARED", 3)
    mirrored.decided(node("n1", cpu="64"), *[pod(f"p{each}") for each in range(7)])
    assert not EngineState.objects.filter(cluster=mirrored.cluster).exists()
    mirrored.decided(is_synced=True)
    mirrored.came(*[pod(f"p{each}", on="n1") for each in range(7)])
    taken = []
    while (outcome := mirrored.host.step()).changes or outcome.due_in == 0:
        taken.append(outcome.changes)
    assert max(taken) == 3 and sum(taken) == 7
    assert Comparison.objects.filter(cluster=mirrored.cluster, outcome="agreed").count() == 7


def test_checkpoint_of_a_mirror_holds_its_objects_and_no_engine(mirrored: Mirrored) -> None:
    mirrored.decided(node("n1"), pod("p", on="n1"), is_synced=True)
    checkpoint_want(cluster_id=mirrored.cluster.pk)
    mirrored.decide()
    found = Checkpoint.objects.get(cluster=mirrored.cluster)
    assert zstandard.ZstdDecompressor().decompress(bytes(found.engine)) == b""
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(bytes(found.objects_packed)).splitlines()
    assert [orjson.loads(line)["kind"] for line in lines][0] == "Node"
    assert orjson.loads(lines[-1])["kind"] == "Pod"


def test_pending_pods_are_explained_and_nothing_is_written(mirrored: Mirrored) -> None:
    mirrored.came(node("n1", cpu="1"), pod("big", cpu="4"), pod("small"), is_synced=True)
    before = Cluster.objects.get(pk=mirrored.cluster.pk).rv
    mirrored.decide()
    big = Attempt.objects.get(cluster=mirrored.cluster, name="big")
    assert (big.result, big.rejections[0]["reason"]) == ("unschedulable", "Insufficient cpu")
    assert QueueState.objects.get(cluster=mirrored.cluster, pod_key="default/big").queue == "unschedulable"
    assert Cluster.objects.get(pk=mirrored.cluster.pk).rv == before
    assert not Binding.objects.exists() and not Eviction.objects.exists()
    assert Pod.objects.get(cluster=mirrored.cluster, name="big").condition_reason == ""


def test_decision_of_the_other_scheduler_is_kept_beside_our_attempt(mirrored: Mirrored) -> None:
    mirrored.decided(node("n1"), node("n2", cpu="2"), pod("p", cpu="4"), is_synced=True)
    mirrored.decided(pod("p", cpu="4", on="n2"))
    found = mirrored.comparison("p")
    assert (found.outcome, found.node_name, found.own_node_name) == ("differed", "n2", "n1")
    assert (found.plugin, found.reason) == ("NodeResourcesFit", "Insufficient cpu")
    attempt = Attempt.objects.get(cluster=mirrored.cluster, seq=found.seq)
    assert (attempt.pod_uid, attempt.node_name, attempt.result) == (found.pod_uid, "n1", "proposed")
    assert not QueueState.objects.filter(cluster=mirrored.cluster).exists()


def test_other_schedulers_are_counted_apart(mirrored: Mirrored) -> None:
    mirrored.decided(node("n1"), pod("p", scheduler="volcano"), is_synced=True)
    mirrored.decided(pod("p", scheduler="volcano", on="n1"))
    assert (mirrored.comparison("p").outcome, mirrored.comparison("p").seq) == ("other", 0)
    # One that was tried while it waited for a scheduler that there is a profile of.
    mirrored.decided(pod("q"))
    mirrored.decided(pod("q", scheduler="volcano"))
    mirrored.decided(pod("q", scheduler="volcano", on="n1"))
    assert (mirrored.comparison("q").outcome, mirrored.comparison("q").seq) == ("other", 0)


def test_decisions_made_while_no_engine_ran_are_compared_on_the_state_as_it_was(mirrored: Mirrored) -> None:
    mirrored.decided(node("n1"), pod("a", cpu="6"), pod("b", cpu="6"), is_synced=True)
    mirrored.came(pod("a", cpu="6", on="n1"))
    mirrored.came(node("n2"))
    mirrored.came(pod("b", cpu="6", on="n2"))
    mirrored.host = lead(mirrored.cluster, "successor")
    mirrored.decide()
    found = {each.name: (each.outcome, each.own_node_name) for each in Comparison.objects.all()}
    assert found == {"a": ("agreed", "n1"), "b": ("agreed", "n2")}
    mirrored.host = lead(mirrored.cluster, "third")
    mirrored.decide()
    assert Comparison.objects.count() == 2


def test_configuration_that_names_what_is_not_here_is_run_as_far_as_it_goes() -> None:
    config = (
        b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        b"- plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}\n"
        b"extenders: [{urlPrefix: 'http://127.0.0.1:1/', filterVerb: filter}]\n"
    )
    mirrored = Mirrored(scheduler_config=config)
    mirrored.decided(node("n1"), node("n2", cpu="1"), pod("p", cpu="4"), is_synced=True)
    mirrored.decided(pod("p", cpu="4", on="n2"))
    assert mirrored.comparison("p").cause == "plugin"
    client = rest.logged_in()
    view = client.get(f"/api/clusters/{mirrored.cluster.pk}/mirror").json()
    assert view["missing_plugins"] == ["Coscheduling", "extender http://127.0.0.1:1/"]
    assert client.get(f"/api/clusters/{mirrored.cluster.pk}/scheduler-config").json()["problems"] == []
    copy = client.post("/api/forks", {"cluster_id": mirrored.cluster.pk, "name": "copy"}, format="json")
    assert copy.status_code == 201, copy.json()


@cases(
    "method, path, body",
    ("create", "POST", "objects", rest.pod("new", namespace="default")),
    ("delete a pod", "DELETE", "pods/default/p", None),
    ("delete an object", "DELETE", "objects/Node/n1", None),
    ("cordon", "PATCH", "nodes/n1", {"unschedulable": True}),
    ("simulate", "PATCH", "", {"lifecycle_mode": "simulate"}),
)
def test_rest_refuses_every_write(mirrored: Mirrored, method: str, path: str, body: Any) -> None:
    mirrored.came(node("n1"), pod("p"), is_synced=True)
    before = Change.objects.filter(cluster=mirrored.cluster).count()
    answer = rest.logged_in().generic(
        method,
        f"/api/clusters/{mirrored.cluster.pk}/{path}".rstrip("/"),
        rest.orjson.dumps(body) if body is not None else b"",
        content_type="application/json",
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "read_only")
    assert "mirrors a cluster elsewhere" in answer.json()["message"]
    assert Change.objects.filter(cluster=mirrored.cluster).count() == before


def test_uploads_are_refused(mirrored: Mirrored) -> None:
    answer = rest.upload(rest.logged_in(), mirrored.cluster, rest.items(rest.pod("new")))
    assert (answer.status_code, answer.json()["code"]) == (403, "read_only")


def test_kubernetes_api_refuses_every_write_and_answers_reads(mirrored: Mirrored) -> None:
    user = rest.User.objects.create(username="root", is_superuser=True)
    _, token = account_services.token_create(user=user, name="t", max_role="admin", days=1, actor="t")
    headers = {"authorization": f"Bearer {token}"}

    def ask(method: str, path: str) -> tuple[Request, access.Principal]:
        request = Request("mirror", method, path, {}, headers)
        who = access.Principals(lambda: 0.0).read(request)
        access.authorize(who, request)
        return request, who

    mirrored.came(node("n1"), pod("p", on="n1"), is_synced=True)
    read = answering.answer(*ask("GET", "/api/v1/pods"))
    assert isinstance(read, Answer) and read.code == 200
    assert [one["metadata"]["name"] for one in orjson.loads(read.content())["items"]] == ["p"]
    ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    for method, path in (
        ("POST", "/api/v1/namespaces/default/pods"),
        ("PATCH", "/api/v1/nodes/n1"),
        ("DELETE", "/api/v1/namespaces/default/pods/p"),
        ("POST", "/api/v1/namespaces/default/pods/p/eviction"),
    ):
        with pytest.raises(RefusedError) as refused:
            ask(method, path)
        assert (refused.value.status.code, refused.value.status.reason) == (403, "Forbidden")
        assert access.MIRRORED in refused.value.status.message


def test_copy_is_an_ordinary_cluster_with_the_same_objects(mirrored: Mirrored) -> None:
    mirrored.came(node("n1"), pod("p", on="n1"), pod("q"), is_synced=True)
    user = rest.User.objects.create(username="root", is_superuser=True)
    made = forking.cluster_fork(
        cluster_id=mirrored.cluster.pk, name="copy", lifecycle_mode="frozen", owner=user, actor="root"
    )
    assert not made.is_mirror
    kept = list(Pod.objects.filter(cluster=made).order_by("name").values_list("name", "uid", "node_name"))
    assert kept == [("p", "pod-default/p", "n1"), ("q", "pod-default/q", "")]
    cluster_services.pod_delete(cluster_id=made.pk, namespace="default", name="q", actor="root")
    assert Pod.objects.filter(cluster=mirrored.cluster, name="q").exists()


def test_agreement_is_counted_by_profile_and_over_time(mirrored: Mirrored) -> None:
    pods = [pod("a", cpu="4"), pod("b", cpu="4"), pod("c", scheduler="volcano")]
    mirrored.decided(node("n1"), node("n2", cpu="2"), *pods, is_synced=True)
    mirrored.came(pod("a", cpu="4", on="n1"))
    mirrored.decided(pod("b", cpu="4", on="n2"), pod("c", scheduler="volcano", on="n1"))
    client, path = rest.logged_in(), f"/api/clusters/{mirrored.cluster.pk}"
    told = client.get(f"{path}/agreement").json()
    counts = {name: count for name, count in told["counts"].items() if count}
    assert counts == {"agreed": 1, "differed": 1, "other": 1}
    assert told["rate"] == 0.5
    assert {each["profile"]: each["rate"] for each in told["profiles"]} == {"default-scheduler": 0.5, "volcano": None}
    assert sum(each["counts"]["agreed"] for each in told["points"]) == 1
    assert told["plugins"] == {"NodeResourcesFit": 1} and sum(told["causes"].values()) == 1
    listed = client.get(f"{path}/comparisons?outcome=differed").json()["results"]
    assert [(each["name"], each["node_name"], each["own_node_name"]) for each in listed] == [("b", "n2", "n1")]
    assert client.get(f"{path}/comparisons?pod_uid=pod-default/a").json()["results"][0]["outcome"] == "agreed"


def test_mirror_is_started_over_rest_by_superusers_only() -> None:
    client = rest.logged_in()
    body = {"name": "prod", "kubeconfig": kubeconfig(1, "x", "t").decode(), "namespaces": ["shop"]}
    answer = client.post("/api/mirrors", body, format="json")
    assert answer.status_code == 201 and answer.json()["is_mirror"] and not answer.json()["is_synced"]
    view = client.get(f"/api/clusters/{answer.json()['id']}/mirror").json()
    assert (view["state"], view["namespaces"], view["server"]) == ("connecting", ["shop"], "http://127.0.0.1:1/k8s/x")
    assert "t" not in view and "credentials" not in view
    stopped = client.patch(f"/api/clusters/{answer.json()['id']}/mirror", {"is_wanted": False}, format="json")
    assert stopped.json()["state"] == "stopped"
    rest.User.objects.create(username="mallory")
    assert rest.logged_in("mallory").post("/api/mirrors", body, format="json").status_code == 403


def test_wrong_namespace_is_named() -> None:
    body = {"name": "prod", "kubeconfig": kubeconfig(1, "x", "t").decode(), "namespaces": ["No Such"]}
    answer = rest.logged_in().post("/api/mirrors", body, format="json")
    assert answer.status_code == 422 and answer.json()["extra"]["field"] == "namespaces"


def test_decision_on_an_earlier_state_is_told_with_the_state(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler_core.scheduler.recent.WINDOW_US", 60_000_000)  # machines may be busy
    tainted = node("n2")
    tainted["spec"] = {"taints": [{"key": "late", "effect": "NoSchedule"}]}
    mirrored.decided(node("n1", cpu="4"), node("n2"), pod("a"), pod("b"), is_synced=True)
    mirrored.decided(tainted)
    mirrored.decided(pod("a", on="n2"))
    monkeypatch.setattr("scheduler_core.scheduler.trying.LOOKS_TO_SETTLE", 0)
    mirrored.decided(pod("b", on="n2"))
    client, path = rest.logged_in(), f"/api/clusters/{mirrored.cluster.pk}"
    told = client.get(f"{path}/agreement").json()
    assert told["counts"] == {"agreed": 0, "tied": 0, "earlier": 1, "differed": 0, "uncertain": 1, "other": 0}
    assert told["rate"] == 1.0
    (one,) = client.get(f"{path}/comparisons?outcome=earlier").json()["results"]
    (behind,) = one["behind"]
    assert (behind["kind"], behind["changes"], one["cause"]) == ("Node", 1, "state") and 0 < behind["seconds"] < 60
    assert client.get(f"{path}/comparisons?cause=state").json()["results"][0]["outcome"] == "uncertain"
