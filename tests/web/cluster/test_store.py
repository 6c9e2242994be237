"""The suite of rules over PostgreSQL: log, current state and columns follow from every request."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster import follow
from kschedweb.cluster.changes import ChangeEntry, unpack
from kschedweb.cluster.models import ApiObject, Change, Cluster, Node, Pod
from kschedweb.cluster.services import server_of
from kschedweb.cluster.store import PostgresStore
from kschedweb.cluster.versions import version_text
from scheduler_core.api.times import moment_of
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Bind, Create, Delete, ObjectKey, Patch, ReportUnschedulable
from scheduler_core.apiserver.server import ApiServer, changes_of
from tests.core.apiserver.admission_rules import *  # noqa: F403
from tests.core.apiserver.asking import CLASS, NOW, POD, SECOND, UNSCHEDULABLE, done, pod, priority_class
from tests.core.apiserver.deletion_and_pod_rules import *  # noqa: F403  the suite, collected here
from tests.core.apiserver.object_rules import *  # noqa: F403

pytestmark = pytest.mark.django_db

NODE = ObjectKey("Node", "", "n1")


@pytest.fixture
def cluster() -> Cluster:
    """A cluster whose log is empty."""
    return Cluster.objects.create(name="c")


@pytest.fixture
def server(cluster: Cluster) -> ApiServer[PostgresStore]:
    return server_of(cluster.pk, "ada")


def node() -> Create:
    status = {"allocatable": {"cpu": "4", "pods": "10"}}
    return Create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status})


def test_columns_of_a_pod_follow_its_manifest(server: ApiServer[PostgresStore]) -> None:
    done(server, pod())
    done(server, ReportUnschedulable(POD, UNSCHEDULABLE, "n2"))
    row = Pod.objects.get()
    assert (row.condition_reason, row.condition_message, row.nominated_node_name) == (*UNSCHEDULABLE[1:], "n2")
    assert (row.requests, row.phase, row.created_at) == ({"cpu": 1000}, "Pending", moment_of(NOW // SECOND * SECOND))
    done(server, Bind(POD, "n1"))
    done(
        server, Patch(POD, {"status": {"phase": "Running", "startTime": "2030-01-01T00:00:07Z"}}, subresource="status")
    )
    done(server, Delete(POD))
    row = Pod.objects.get()
    assert (row.node_name, row.phase, row.condition_reason, row.rv) == ("n1", "Running", "", 5)
    assert row.start_time == moment_of(NOW // SECOND * SECOND + 7 * SECOND)
    assert row.deletion_timestamp == moment_of(NOW // SECOND * SECOND + 30 * SECOND)
    assert "resourceVersion" not in row.manifest["metadata"]


def test_gates_that_go_let_a_pod_be_bound(server: ApiServer[PostgresStore]) -> None:
    done(server, pod(schedulingGates=[{"name": "g"}]))
    assert Pod.objects.get().gated
    server.carry_out([Patch(POD, {"spec": {"schedulingGates": None}}), Bind(POD, "n1")], NOW)
    assert (Pod.objects.get().gated, Pod.objects.get().node_name) == (False, "n1")


def test_columns_of_a_node_follow_its_manifest(server: ApiServer[PostgresStore]) -> None:
    done(server, node())
    assert Node.objects.get().allocatable == {"cpu": 4000, "pods": 10}
    done(
        server,
        Patch(NODE, {"spec": {"unschedulable": True}, "metadata": {"labels": {"topology.kubernetes.io/zone": "z"}}}),
    )
    row = Node.objects.get()
    assert (row.unschedulable, row.zone, row.rv) == (True, "z", 2)


def test_an_object_that_comes_and_goes_in_one_batch_leaves_its_entries_only(server: ApiServer[PostgresStore]) -> None:
    server.carry_out([priority_class(), Delete(CLASS), priority_class(), Delete(CLASS), priority_class()], NOW)
    assert list(Change.objects.order_by("rv").values_list("operation", flat=True)) == [
        "created", "deleted", "created", "deleted", "created",
    ]  # fmt: skip
    assert ApiObject.objects.get().rv == 5
    server.carry_out([Delete(CLASS), priority_class(), Delete(CLASS)], NOW)
    assert not ApiObject.objects.exists()


def test_entries_have_the_actor_the_time_and_the_last_state(server: ApiServer[PostgresStore]) -> None:
    done(server, pod())
    done(server, Delete(POD), NOW + SECOND)
    entry = Change.objects.latest("rv")
    assert (entry.kind, entry.namespace, entry.name, entry.actor) == ("Pod", "default", "p", "ada")
    assert (entry.operation, entry.at) == ("deleted", moment_of(NOW + SECOND))
    assert unpack(entry.object)["metadata"]["deletionGracePeriodSeconds"] == 0


def test_verdicts_come_after_the_changes_they_are_about(server: ApiServer[PostgresStore]) -> None:
    answers = server.decide([pod()], NOW)
    verdict = ChangeEntry("Binding", "default", "p", "u", "verdict", {"bound": True})
    assert server.store.commit(changes_of(answers), NOW, [verdict]) == 2
    assert list(Change.objects.order_by("rv").values_list("kind", flat=True)) == ["Pod", "Binding"]


def test_other_clusters_are_not_touched(server: ApiServer[PostgresStore]) -> None:
    other = server_of(Cluster.objects.create(name="other").pk, "ada")
    for one in (server, other):
        done(one, pod())
    done(server, Delete(POD))
    assert other.store.get(POD) is not None and server.store.get(POD) is None


class WithVersionsOfTables(MemoryStore):
    def version_of(self, position: int) -> str:
        return version_text(position)


def test_both_stores_tell_their_followers_the_same(cluster: Cluster, server: ApiServer[PostgresStore]) -> None:
    def uids() -> Any:
        return iter(f"00000000-0000-0000-0000-00000000000{number}" for number in range(10))

    in_memory, in_tables = uids(), uids()
    memory = ApiServer(WithVersionsOfTables(), lambda: next(in_memory))
    tables = ApiServer(server.store, lambda: next(in_tables))
    batches = [
        [node(), pod(), priority_class()],
        [Bind(POD, "n1"), Delete(CLASS)],
        [Patch(NODE, {"spec": {"unschedulable": True}}), Delete(POD)],
    ]
    for batch in batches:
        assert memory.carry_out(batch, NOW) == tables.carry_out(batch, NOW)
    changes, end = follow.changes_after(cluster_id=cluster.pk, rv=0)
    assert (changes, end) == (memory.store.changes_after(0), memory.store.rv)


def test_a_batch_takes_as_many_queries_as_one_request(
    server: ApiServer[PostgresStore], django_assert_num_queries: Any
) -> None:
    names = [f"p{number}" for number in range(50)]
    server.carry_out([pod(name) for name in names], NOW)
    for some in (names[:1], names[1:]):
        with django_assert_num_queries(4):  # lock; counter and wake-up, log, state
            server.carry_out([Bind(ObjectKey("Pod", "default", name), "n1") for name in some], NOW)
