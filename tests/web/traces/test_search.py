"""The search: what it finds and in which order, what of a pod that is gone is kept, and who finds what."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.accounts import services as account_services
from kschedweb.accounts.models import RoleBinding
from kschedweb.cluster import services
from kschedweb.cluster.models import Change, Cluster, Pod
from kschedweb.common import bulk, ranking
from kschedweb.traces import selectors
from kschedweb.traces.selectors import names, searching
from tests.web.cluster.test_workloads import MADE, workload
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db(transaction=True)

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent-1"}, "value": 7}


def filled(name: str, *objects: dict[str, Any]) -> Cluster:
    cluster = services.cluster_create(name=name)
    assert upload(logged_in(), cluster, items(*objects)).status_code == 201
    return cluster


def ask(client: APIClient, q: str = "", **query: Any) -> Any:
    return client.get("/api/search", {"q": q, **query})


def hits(client: APIClient, q: str = "", **query: Any) -> list[dict[str, Any]]:
    answer = ask(client, q, **query)
    assert answer.status_code == 200, answer.content
    return [hit for group in answer.json()["groups"] for hit in group["hits"]]


def found(client: APIClient, q: str = "", **query: Any) -> list[str]:
    return [f"{hit['kind']} {hit['name']} {hit['state']}".strip() for hit in hits(client, q, **query)]


def delete(cluster: Cluster, name: str) -> None:
    assert logged_in().delete(f"/api/clusters/{cluster.pk}/pods/default/{name}").status_code in (200, 204)


def pods(*given: str) -> Sequence[dict[str, Any]]:
    return [pod(name, namespace="default") for name in given]


def test_everything_with_a_name_is_found() -> None:
    running = pod("web-run", namespace="default", uid="u-run", creationTimestamp=MADE) | {
        "status": {"phase": "Running"}
    }
    running["spec"]["nodeName"] = "web-node"
    ended = pod("web-end", namespace="default", uid="u-end", creationTimestamp=MADE) | {
        "status": {"phase": "Succeeded"}
    }
    ended["spec"]["nodeName"] = "web-node"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web-space"}}
    web = workload("Job", "web-job", template=True)
    web["spec"]["template"] = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    cluster = filled("c-web", node("web-node"), running, ended, *pods("web-new", "web-old"), space, web, CLASS)
    delete(cluster, "web-old")
    client = logged_in()
    assert found(client, "web") == [
        "pod web-end succeeded",
        "pod web-new pending",
        "pod web-run running",
        "node web-node ready",
        "workload web-job running",
        "namespace web-space",
        "gonepod web-old gone",
        "cluster c-web",
    ]
    assert found(client, "web", kinds="pod") == [
        "pod web-end succeeded", "pod web-new pending", "pod web-run running",
    ]  # fmt: skip
    assert found(client, "web", kinds="gonepod") == ["gonepod web-old gone"]
    assert found(client, "urge") == ["priorityclass urgent-1"]
    detail = client.get(f"/api/clusters/{cluster.pk}/objects/PriorityClass/urgent-1").json()
    assert detail["manifest"]["value"] == CLASS["value"]
    assert client.get(f"/api/clusters/{cluster.pk}/objects/PriorityClass/urgent-2").status_code == 404
    assert found(client, "default-sch") == ["configuration default-scheduler active"]
    assert found(client, "v1", kinds="configuration") == ["configuration v1 active"]
    [hit] = hits(client, "web-run")
    at = hit.pop("at")
    assert hit == {
        "kind": "pod", "cluster_id": cluster.pk, "cluster": "c-web", "namespace": "default", "name": "web-run",
        "of": "", "state": "running", "node": "web-node", "pods": None, "how": "exact", "marks": [[0, 7]],
    }  # fmt: skip
    assert at is not None


def test_best_match_comes_first_and_marks_what_matches() -> None:
    filled("c", *pods("pod", "pod-2", "a-pod", "tripods", "p-o-d", "nothing"))
    answer = hits(logged_in(), "pod", kinds="pod")
    assert [(hit["name"], hit["how"]) for hit in answer] == [
        ("pod", "exact"), ("pod-2", "start"), ("a-pod", "word"), ("tripods", "inside"), ("p-o-d", "parts"),
    ]  # fmt: skip
    assert [hit["marks"] for hit in answer][-2:] == [[[3, 6]], [[0, 1], [2, 3], [4, 5]]]


def test_parts_in_order_find_a_pod_of_a_trace_and_the_limit_says_that_there_is_more() -> None:
    filled("c", *pods(*(f"openb-pod-{number:04}" for number in range(20))))
    client = logged_in()
    assert found(client, "opod12", kinds="pod") == ["pod openb-pod-0012 pending"]
    [group] = ask(client, "pod", kinds="pod", limit=3).json()["groups"]
    assert (len(group["hits"]), group["more"]) == (3, True)
    [group] = ask(client, "pod", kinds="pod", limit=20).json()["groups"]
    assert (len(group["hits"]), group["more"]) == (20, False)


def test_kind_with_the_best_match_comes_first() -> None:
    filled("c", node("web"), *pods("web-1", "a-web"))
    assert found(logged_in(), "web") == ["node web ready", "pod web-1 pending", "pod a-web pending"]


def test_namespace_before_a_slash_narrows() -> None:
    filled("c", pod("web", namespace="shop"), pod("web", namespace="attic"), node("web"))
    client = logged_in()
    assert [hit["namespace"] for hit in hits(client, "shop/web")] == ["shop"]
    assert [hit["namespace"] for hit in hits(client, "at/")] == ["attic"]
    assert found(client, "sho") == ["namespace shop"]


def test_pod_that_is_gone_is_found_once_and_not_while_another_has_its_name() -> None:
    cluster = filled("c", *pods("web-0"))
    client = logged_in()
    for _ in range(2):
        delete(cluster, "web-0")
        assert found(client, "web-0") == ["gonepod web-0 gone"]
        upload(client, cluster, items(*pods("web-0")))
        assert found(client, "web-0") == ["pod web-0 pending"]
    delete(cluster, "web-0")
    assert found(client, "web-0") == ["gonepod web-0 gone"]
    assert [one for one in found(client) if one.endswith("gone")] == ["gonepod web-0 gone"]


def test_pods_that_were_made_again_take_no_room_of_others_that_are_gone() -> None:
    """However many of the names that come first another pod has now."""
    most = searching.LEAST_CANDIDATES
    cluster = services.cluster_create(name="c")
    again = [f"web-{number:03}" for number in range(names.PARTS_CANDIDATES + most)]
    upload(logged_in(), cluster, items(*pods(*again)))
    changes_store(cluster, [(rv, name, "deleted", b"") for rv, name in enumerate([*again, "web-x"], 10_000)])
    client = logged_in()
    for word in ("web", "eb-", "wx", "default/", "x"):
        assert found(client, word, kinds="gonepod") == ["gonepod web-x gone"], word


def test_what_retention_cut_is_not_found() -> None:
    cluster = filled("c", *pods("web-0", "web-1"))
    delete(cluster, "web-0")
    cut = Change.objects.filter(cluster=cluster).order_by("-rv").values_list("rv", flat=True)[0]
    delete(cluster, "web-1")
    assert found(logged_in(), "web") == ["gonepod web-0 gone", "gonepod web-1 gone"]
    Change.objects.filter(cluster=cluster, rv__lte=cut).delete()  # as `retention.prune` does at a checkpoint
    assert found(logged_in(), "web") == ["gonepod web-1 gone"]


def test_deleted_cluster_is_searched_no_more() -> None:
    kept, lost = filled("kept", *pods("web-0", "web-1")), filled("lost", *pods("web-0", "web-1"))
    delete(kept, "web-1")
    delete(lost, "web-1")
    client = logged_in()
    assert {(hit["cluster"], hit["name"]) for hit in hits(client, "web")} == {
        (cluster, name) for cluster in ("kept", "lost") for name in ("web-0", "web-1")
    }
    assert {hit["cluster"] for hit in hits(client, "web", cluster=lost.pk)} == {"lost"}
    services.cluster_delete(cluster_id=lost.pk)
    assert [(hit["cluster"], hit["name"]) for hit in hits(client, "web")] == [("kept", "web-0"), ("kept", "web-1")]
    assert ask(client, "web", cluster=lost.pk).status_code == 404


def test_only_what_one_may_see_is_found() -> None:
    mine, other = filled("mine", *pods("web-0", "web-1")), filled("other", node("web"), *pods("web-0", "web-1"))
    for cluster in (mine, other):
        delete(cluster, "web-1")
    bob = User.objects.create_user("bob")
    RoleBinding.objects.create(user=bob, cluster=mine, role="viewer", granted_by="test")
    client = APIClient()
    client.force_login(bob)
    everything = {
        hit["cluster"] for word in ("", "web", "other", "mine", "v1", "default") for hit in hits(client, word)
    }
    assert everything == {"mine"}
    assert found(client, "web") == ["pod web-0 pending", "gonepod web-1 gone"]
    assert ask(client, "web", cluster=other.pk).status_code == 404
    _, secret = account_services.token_create(user=bob, name="t", max_role="admin", days=1, actor="bob")
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert {hit["cluster"] for hit in hits(program, "web")} == {"mine"}
    RoleBinding.objects.all().delete()
    assert hits(client, "web") == hits(program, "web") == []
    assert ask(APIClient(), "web").status_code == 401


def test_no_character_is_a_pattern() -> None:
    delete(filled("c", *pods("web-0", "web-1")), "web-1")
    for q in ("%", "_", "\\", "'", '"', "web%", "w_b", "%web", "we\\b", "a'b", "(", "[", ".*", "^", "$"):
        assert (found(logged_in(), q), found(logged_in(), f"default/{q}")) == ([], []), q


def test_any_text_is_a_word() -> None:
    delete(filled("c", node(), *pods("web-0", "web-1")), "web-1")
    for q in ("w" * 253, "-" * 253, "/" * 253, "網", "😀", "ÜBER", "a b c", " ", "/"):
        assert ask(logged_in(), q).status_code == 200, q


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"q": "w" * 254}, "q"),
        ({"q": "a", "kinds": "pod,secret"}, "kinds"),
        ({"q": "a", "kinds": ""}, "kinds"),
        ({"q": "a", "limit": 0}, "limit"),
        ({"q": "a", "limit": 51}, "limit"),
        ({"q": "a", "cluster": "c"}, "cluster"),
        ({"query": "a"}, "query"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_name(query: dict[str, Any], field: str) -> None:
    answer = logged_in().get("/api/search", query)
    assert answer.status_code == 400
    assert field in answer.json()["extra"]["fields"]


def test_empty_word_finds_what_was_made_last() -> None:
    cluster = filled("c", *pods("b", "c", "a"))
    upload(logged_in(), cluster, items(*pods("b2")))
    assert found(logged_in(), kinds="pod")[0] == "pod b2 pending"
    assert [hit["name"] for hit in hits(logged_in(), kinds="pod", limit=2)] == [
        "b2",
        hits(logged_in(), kinds="pod")[1]["name"],
    ]


def test_reason_for_which_pods_are_pending_is_found() -> None:
    cluster = filled("c", *pods("big"))
    uid = logged_in().get(f"/api/clusters/{cluster.pk}/pods/default/big").json()["manifest"]["metadata"]["uid"]
    rejections = [{"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "code": 1, "count": 3}]
    at = timezone.now()
    columns = ("cluster_id", "seq", "rv", "config_version", "run", "step", "place", "pod_uid", "namespace", "name",
        "attempt", "profile", "result", "node_name", "message", "started_at", "duration_us", "durations", "evaluated",
        "feasible", "unschedulable_plugins", "rejections", "refused", "best", "tried_first", "node_order", "digest",
        "repeat_count", "last_seen_at")  # fmt: skip
    row = (cluster.pk, 1, 1, 1, 1, 1, 0, uid, "default", "big", 1, "default-scheduler", "unschedulable", "", "", at, 1,
        "{}", 3, 0, [], bulk.json_text(rejections), [], "[]", False, "", b"", 0, at)  # fmt: skip
    bulk.copy_rows("traces_attempt", columns, [row])
    [hit] = hits(logged_in(), "cpu")
    assert (hit["kind"], hit["name"], hit["of"], hit["pods"]) == ("reason", "Insufficient cpu", "NodeResourcesFit", 1)
    delete(cluster, "big")
    assert hits(logged_in(), "cpu") == []


def changes_store(cluster: Cluster, rows: Iterable[tuple[int, str, str, bytes]]) -> None:
    """(rv, name, operation, object) of changes of pods."""
    columns = ("cluster_id", "rv", "kind", "namespace", "name", "uid", "operation", "object", "actor", "at")
    at = timezone.now()
    made = (
        (cluster.pk, rv, "Pod", "default", name, name, operation, packed, "t", at)
        for rv, name, operation, packed in rows
    )
    bulk.copy_rows("cluster_change", columns, made)


def _random_names(draw: Random, count: int) -> list[str]:
    return [
        "-".join("".join(draw.choices("ab01", k=draw.randint(1, 4))) for _ in range(draw.randint(1, 3)))
        for _ in range(count)
    ]


def test_database_and_rule_agree_on_what_matches() -> None:
    """Of random names PostgreSQL finds those that the rule says match, present or gone, however few it may give."""
    draw = Random(7)
    cluster = services.cluster_create(name="c")
    made = sorted(set(_random_names(draw, 300)))
    changes_store(cluster, [(rv, name, "deleted", b"") for rv, name in enumerate(made, 10_000)])
    upload(logged_in(), cluster, items(*pods(*(name for name in made[::2] if name[0] in "ab01"))))
    present = {row.name for row in names.pods([cluster.pk], names.Wanted("", ""), 10_000)}
    for word in {*_random_names(draw, 60), "b", "0", "1", "a1", "ab01"}:
        wanted = names.Wanted("", word)
        want = {name for name in made if ranking.match(word, name)}
        assert {row.name for row in names.pods([cluster.pk], wanted, 10_000)} == want & present, word
        assert {row.name for row in names.gone_pods([cluster.pk], wanted, 10_000)} == want - present, word
        # However few are given of each way to match, the best way that there is is among them.
        best = min((ranking.match(word, name).how for name in want), default=None)  # type: ignore[union-attr]
        few = [ranking.match(word, row.name) for row in names.pods([cluster.pk], wanted, 1)]
        few += [ranking.match(word, row.name) for row in names.gone_pods([cluster.pk], wanted, 1)]
        assert min((each.how for each in few if each), default=None) == best, word


def test_order_is_total_and_deterministic() -> None:
    """Sorted from any order of rows, what is found stands in the same order, and no two things are equal in it."""
    draw = Random(3)
    filled("c", *pods(*sorted({f"x{name}" for name in _random_names(draw, 40)})), node("xa"), node("xb"))
    clusters = dict(Cluster.objects.values_list("pk", "name"))
    rows = [row for kind in ("pod", "node") for row in searching._FINDERS[kind](clusters, names.Wanted.of("x"), 500)]
    ranked = searching._ranked(rows, names.Wanted.of("x"), clusters)
    keys = [each.order(clusters, by_name=True) for each in ranked]
    assert len(set(keys)) == len(keys) == len(rows)
    for _ in range(5):
        draw.shuffle(rows)
        again = searching._ranked(rows, names.Wanted.of("x"), clusters)
        assert [each.found for each in again] == [each.found for each in ranked]
    assert selectors.search(clusters, "x") == selectors.search(clusters, "x")


def test_names_of_gone_pods_are_read_from_their_index_alone() -> None:
    cluster = services.cluster_create(name="c")
    rows = ((rv, f"web-{rv}", "deleted" if rv % 5 == 0 else "updated", b"x" * 900) for rv in range(10_000, 15_000))
    changes_store(cluster, rows)
    with connection.cursor() as cursor:
        visible = 0.0
        while visible < 0.9:  # a snapshot that is open meanwhile keeps pages from being marked
            cursor.execute("VACUUM ANALYZE cluster_change")
            cursor.execute("SELECT relallvisible / relpages::float FROM pg_class WHERE relname = 'cluster_change'")
            (visible,) = cursor.fetchone()
        statement = names._GONE.format('(name COLLATE "C") LIKE %s')
        cursor.execute(f"EXPLAIN {statement}", [[cluster.pk], "%w%7%", 50])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Only Scan using change_gone_pods" in plan, plan


def test_whether_a_name_is_taken_again_is_looked_up_by_the_whole_name() -> None:
    """Not among all pods of the namespace."""
    cluster = filled("c", *pods("web"))
    (row,) = Pod.objects.filter(cluster=cluster).values()
    del row["id"]
    Pod.objects.bulk_create(Pod(**row | {"name": f"web-{number}", "uid": f"u{number}"}) for number in range(3_000))
    statement = names._GONE.format('(name COLLATE "C") LIKE %s')
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE cluster_pod")
        cursor.execute(f"EXPLAIN {statement}", [[cluster.pk], "w%", 50])
        plan = [line.strip() for (line,) in cursor.fetchall()]
    at = next(place for place, line in enumerate(plan) if "on cluster_pod pod" in line)
    assert plan[at + 1].startswith("Index Cond") and "(name = " in plan[at + 1], plan
