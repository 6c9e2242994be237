"""A history in a file is that of the cluster it came from: replayed, shown, asked; what is wrong with it is named."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import orjson
import pytest
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.test import APIClient

from kschedweb.accounts.choices import Role
from kschedweb.accounts.services import role_set
from kschedweb.cluster import runner
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change, Cluster, Import, Node, Pod
from kschedweb.common import packing
from kschedweb.common.errors import ApplicationError, ConflictError, ReadOnlyError
from kschedweb.mirror.forking import cluster_fork
from kschedweb.scheduling import due, leadership, leases, retention
from kschedweb.scheduling.past import files, opening, planning, proving
from kschedweb.scheduling.past.files import HistoryFileError
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep, QueueState
from tests.builders import make_node, make_pod
from tests.web import rest
from tests.web.scheduling.conftest import lead, put, scheduled, settle
from tests.web.scheduling.filed import FILED, PATHS, answered, exported, forged, opened, outcome, swap
from tests.web.scheduling.lived import Lived, cycles, live, replayed

pytestmark = FILED


def test_history_from_a_file_replays_as_the_original(cluster: Cluster) -> None:
    live(cluster)
    cluster.refresh_from_db()
    copy = opened(exported(cluster))
    assert (copy.rv, copy.seq, copy.seed, copy.is_record) == (cluster.rv, cluster.seq, 1, True)
    expected = outcome(replayed(cluster))
    assert expected == (None, cycles(cluster), 0) and expected[1] > 100
    assert outcome(replayed(copy)) == expected
    for model, order in ((Attempt, "seq"), (EngineLog, "seq"), (EngineStep, "id"), (QueueState, "pod_uid")):
        assert values(model, copy, order) == values(model, cluster, order)


def values(model: Any, cluster: Cluster, order: str) -> list[dict[str, Any]]:
    rows = model.objects.filter(cluster_id=cluster.pk).order_by(order).values()
    return [{name: value for name, value in row.items() if name not in ("id", "cluster_id")} for row in rows]


def test_span_begins_at_a_checkpoint_and_ends_where_it_is_told(cluster: Cluster) -> None:
    lived = live(cluster, rounds=7)
    checkpoint = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    position, _ = next(each for each in lived.places[len(lived.places) * 2 // 3 :] if each[0].seq > checkpoint.seq)
    first = Position(checkpoint.objects_rv, checkpoint.seq)
    copy = opened(exported(cluster, first=first, last=position))
    assert (copy.seq, copy.rv <= position.rv) == (position.seq, True)
    replay = replayed(copy)
    assert outcome(replay) == outcome(replayed(cluster, first=first, last=position)) and replay.cycles > 0
    client = rest.logged_in()
    at = f"{copy.rv}.{copy.seq}"
    for path in (*PATHS[1:], "objects?kind=Node&limit=99"):
        assert answered(client, copy, path) == answered(client, cluster, path, at), path
    assert answered(client, copy, "pending", f"{copy.rv}.{copy.seq + 1}")[0] == 400
    assert answered(client, copy, "pending", "1.1")[0] == 410
    assert not Attempt.objects.filter(cluster=copy, seq__gt=position.seq).exists()
    again = opened(exported(copy), "again")
    assert outcome(replayed(again)) == outcome(replay)


def test_moment_is_a_span_without_length(cluster: Cluster) -> None:
    lived = live(cluster, rounds=3)
    position, _ = lived.places[-2]
    copy = opened(exported(cluster, first=position, last=position))
    client = rest.logged_in()
    for path in ("summary", "pending", "objects?kind=Pod&limit=999"):
        assert answered(client, copy, path) == answered(client, cluster, path, str(position)), path


def test_every_flipped_byte_is_refused_by_the_name_of_its_part(small: Cluster) -> None:
    content = exported(small)
    spans = dict(parts_of(content))
    assert set(spans) >= {"head", "configurations", "changes", "steps", "log", "orders", "attempts", "queue", "end"}
    draws = Random(3)
    for part, (start, end) in spans.items():
        for _ in range(4):
            flipped = bytearray(content)
            flipped[draws.randrange(start, end)] ^= 1 << draws.randrange(8)
            with pytest.raises(HistoryFileError) as refused:
                list(files.read(io.BytesIO(bytes(flipped))))
            assert refused.value.part == part and part in refused.value.message


def parts_of(content: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Where the content of the last section of each part stands."""
    at = content.index(b"\n") + 1
    while at < len(content):
        end = content.index(b"\n", at)
        told = orjson.loads(content[at:end])
        yield told["part"], (end + 1, end + 1 + told["size"])
        at = end + 1 + told["size"]


def test_file_that_is_cut_or_put_together_anew_is_refused(small: Cluster) -> None:
    content = exported(small)
    spans = list(parts_of(content))
    begins = [content.index(b"\n") + 1, *(end for _, (_, end) in spans)]
    sections = [content[start:end] for start, end in pairwise(begins)]
    line = content[: begins[0]]
    named = [name for name, _ in spans]
    assert line + b"".join(sections) == content
    log = named.index("log")
    for found, part in (
        (content[:-5], "end"),
        (content[: spans[log][1][1]], "log"),
        (content + b"x", "end"),
        (line + b"".join(sections[:log] + sections[log + 1 :]), "log"),
        (line + b"".join([*sections[: log + 1], *sections[log:]]), "log"),
        (line + b"".join(sections[1:]), named[1]),
        (content.replace(b"KSCHED-HISTORY 1", b"KSCHED-HISTORY 2", 1), "head line"),
        (b"KSCHED-HISTORY x\n" + content, "head line"),
    ):
        with pytest.raises(HistoryFileError) as refused:
            list(files.read(io.BytesIO(found)))
        assert refused.value.part == part
    assert "version 2" in str(
        pytest.raises(HistoryFileError, list, files.read(io.BytesIO(b"KSCHED-HISTORY 2\n"))).value
    )


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("changes", lambda rows: rows.pop(2), "entry 3 is missing"),
        ("changes", swap(files.CHANGES, "object", b"{"), "cannot be read"),
        ("changes", swap(files.CHANGES, "operation", "odd"), "expected one of"),
        ("changes", swap(files.CHANGES, "name", "n" * 300), "too long"),
        ("changes", swap(files.CHANGES, "object", b'{"kind": "Node", "metadata": {}}', 2), "cannot be read"),
        ("log", lambda rows: rows.pop(), "ends at"),
        ("log", swap(files.LOG, "payload", "{"), "json"),
        ("steps", swap(files.STEPS, "step", 1), "does not follow"),
        ("steps", swap(files.STEPS, "cycles", "x"), "expected int"),
        ("attempts", swap(files.ATTEMPTS, "refused", [1]), "list of texts"),
        ("attempts", swap(files.ATTEMPTS, "feasible", -1), "constraint"),
        ("bindings", swap(files.BINDINGS, "status", "pending"), "still to be done"),
        ("configurations", lambda rows: rows.clear(), "in force is missing"),
        ("head", lambda head: msgspec.structs.replace(head, objects_rv=10**9), "another time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "changed",
)
def test_what_does_not_fit_is_named_and_nothing_is_stored(small: Cluster, part: str, change: Any, said: str) -> None:
    content = forged(exported(small), part, change)
    made = cluster_services.cluster_create(name="refused")
    before = tables(made)
    with pytest.raises(HistoryFileError) as refused:
        opening.history_open(cluster_id=made.pk, file=io.BytesIO(content))
    assert refused.value.part == part and said in refused.value.message
    assert tables(made) == before


def tables(cluster: Cluster) -> dict[str, int]:
    """How many rows each table has of a cluster."""
    found = {}
    for model in (Change, EngineLog, EngineStep, Attempt, Node, Pod, QueueState, Checkpoint):
        found[model.__name__] = model._base_manager.filter(cluster_id=cluster.pk).count()
    cluster.refresh_from_db()
    return found | {"rv": cluster.rv, "is_record": cluster.is_record}


def test_history_does_not_go_into_a_cluster_that_has_one(small: Cluster) -> None:
    with pytest.raises(ConflictError, match="needs a new cluster"):
        opening.history_open(cluster_id=small.pk, file=io.BytesIO(exported(small)))
    assert outcome(replayed(small)) == (None, cycles(small), 0)


def test_an_engine_that_was_there_before_the_history_is_shut_out(small: Cluster) -> None:
    made = cluster_services.cluster_create(name="led")
    host = lead(made)
    host.step()  # an empty cluster is led as any other
    opening.history_open(cluster_id=made.pk, file=io.BytesIO(exported(small)))
    with pytest.raises(leases.FencedOutError):
        host._engine = None
        host.step()
    assert outcome(replayed(made)) == (None, cycles(small), 0)


def test_nothing_happens_in_a_history_any_more(small: Cluster, admin_user: Any) -> None:
    copy = opened(exported(small))
    assert not due.clusters_due([copy.pk], 0.0)
    assert copy.pk not in {view.cluster_id for view in leases.leases_list()}
    assert not [one for one in leadership.leaderships(cluster_ids=[copy.pk]) if one.is_wanted or one.lag]
    assert ("lifecycle.tick", str(copy.pk)) not in sweep()
    assert copy.pk not in retention.prune_all()
    for change in (
        lambda: put(copy, make_pod("more").req(cpu="1")),
        lambda: cluster_services.pace_set(cluster_id=copy.pk, pace="run", actor="test"),
        lambda: cluster_services.clock_set(cluster_id=copy.pk, mode="fast", actor="test"),
        lambda: cluster_services.scheduler_config_set(cluster_id=copy.pk, content=b"", actor="test"),
        lambda: cluster_services.cluster_change(cluster_id=copy.pk, lifecycle_mode="simulate", actor="test"),
    ):
        with pytest.raises(ReadOnlyError, match="history from a file"):
            change()
    fork = cluster_fork(cluster_id=copy.pk, name="goes-on", lifecycle_mode="frozen", owner=admin_user, actor="test")
    for each in Import.objects.filter(cluster=fork):
        runner.import_execute(str(each.pk))
    assert Pod.objects.filter(cluster=fork).count() == Pod.objects.filter(cluster=small).count() == 3


@pytest.mark.usefixtures("never_busy")
def test_history_from_a_file_is_proven_in_the_background(small: Cluster) -> None:
    copy = opened(exported(small))
    while proving.prove(cluster_id=copy.pk) is not None and due.clusters_unproven().count(copy.pk):
        pass
    proof = proving.HistoryProof.objects.get(pk=copy.pk)
    assert (proof.difference, proof.cycles, proof.unproven) == (None, cycles(small), 0)


def test_what_is_secret_is_in_no_file(small: Cluster) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(rv) FROM cluster_change WHERE cluster_id = %s AND kind = 'Namespace'", [small.pk])
        (rv,) = cursor.fetchone()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "tunnel", "namespace": "d", "uid": "u", "annotations": {"a": "dHVubmVs"}},
            "data": {"password": "c3VzYW4="},
        }
        cursor.execute(
            "UPDATE cluster_change SET kind = 'Secret', name = 'tunnel', object = %s WHERE cluster_id = %s AND rv = %s",
            [packing.packed(secret), small.pk, rv],
        )
    text = str([rows for _, rows in files.read(io.BytesIO(exported(small)))])
    assert "'Secret'" in text and not [each for each in ("c3VzYW4=", "dHVubmVs", "tunnel") if each in text]
    assert outcome(replayed(opened(exported(small)))) == (None, cycles(small), 0)


def test_keys_of_extenders_stay_behind() -> None:
    text = "extenders:\n- urlPrefix: https://x\n  tlsConfig:\n    keyData: c3VzYW4=\n    certData: YQ==\n"
    assert "c3VzYW4=" not in planning._without_keys(text) and "https://x" in planning._without_keys(text)


def in_role(cluster: Cluster, role: Role) -> APIClient:
    user = User.objects.create(username=str(role))
    role_set(cluster=cluster, username=user.username, role=role, actor="test")
    client = APIClient()
    client.force_login(user)
    return client


def test_routes_export_and_import(small: Cluster) -> None:
    """Who may see a cluster may take its history; what it becomes needs an admin of the new cluster."""
    viewer = in_role(small, Role.VIEWER)
    answer = viewer.get(f"/api/clusters/{small.pk}/history/export")
    assert answer.status_code == 200 and ".history" in answer.headers["Content-Disposition"]
    content = b"".join(answer.streaming_content)
    assert content.startswith(b"KSCHED-HISTORY 1\n")
    made = cluster_services.cluster_create(name="made")
    assert rest.upload(in_role(made, Role.OPERATOR), made, content).status_code == 403
    client = rest.logged_in()
    assert rest.upload(client, made, content, "?lifecycle=simulate").status_code == 422
    answer = rest.upload(client, made, content)
    assert answer.status_code in (201, 202), answer.content
    if answer.status_code == 202:
        runner.import_execute(answer.json()["id"])
    report = client.get(f"/api/clusters/{made.pk}/imports/{answer.json()['id']}").json()["report"]
    assert report["files"][0]["format"] == "history" and report["kinds"]["Pod"] == {"created": 3}
    assert client.get(f"/api/clusters/{made.pk}").json()["is_record"] is True
    assert outcome(replayed(made)) == (None, cycles(small), 0)
    for query, status, name in (("from=odd", 400, "from"), ("to=9.9999999", 400, "to"), ("at=1.1", 400, "at")):
        refused = client.get(f"/api/clusters/{small.pk}/history/export?{query}")
        assert (refused.status_code, name in refused.json()["extra"]["fields"]) == (status, True), refused.content


def test_bad_file_leaves_an_import_that_names_the_part(small: Cluster) -> None:
    content = bytearray(exported(small))
    start, end = dict(parts_of(bytes(content)))["log"]
    content[(start + end) // 2] ^= 4
    made = cluster_services.cluster_create(name="made")
    answer = rest.upload(rest.logged_in(), made, bytes(content))
    told = answer.json()
    if answer.status_code == 202:
        runner.import_execute(told["id"])
        told = Import.objects.get(pk=told["id"]).error
    assert (told["code"], told["extra"]["part"]) == ("history_unreadable", "log")
    assert not Pod.objects.filter(cluster=made).exists()


def test_a_mirror_and_a_span_that_ends_before_it_begins_are_refused(small: Cluster) -> None:
    with pytest.raises(ApplicationError, match="ends before it begins"):
        planning.planned(cluster_id=small.pk, first=Position(2, 2), last=Position(1, 1))
    Cluster.objects.filter(pk=small.pk).update(is_mirror=True)
    with pytest.raises(ApplicationError, match="a mirror decides nothing"):
        planning.planned(cluster_id=small.pk)


def test_repeats_and_counts_are_those_of_the_end(cluster: Cluster) -> None:
    """Rows that change later are taken back; those of before the beginning that are spoken of after it are there."""
    lived: Lived = live(cluster, rounds=4)
    settle(lead(cluster))
    cluster.refresh_from_db()
    middle = lived.places[len(lived.places) // 2][0]
    content = exported(cluster, last=middle)
    rows = [row for name, found in files.read(io.BytesIO(content)) if name == "attempts" for row in found]
    seq, count = files.ATTEMPTS.place("seq"), files.ATTEMPTS.place("repeat_count")
    told = EngineLog.objects.filter(cluster=cluster, kind="attempt", seq__lte=middle.seq)
    repeats = [entry.payload["repeats"] for entry in told if "repeats" in entry.payload]
    assert {row[seq]: row[count] for row in rows} == {row[seq]: repeats.count(row[seq]) for row in rows}


def test_size_is_told_by_cycles(cluster: Cluster) -> None:
    """Twenty megabytes for 10,000 cycles are 2,000 bytes a cycle, objects and checkpoints included."""
    host = scheduled(cluster, *(make_node(f"n{number:03}").capacity(cpu="8", pods="30") for number in range(200)))
    put(cluster, *(make_pod(f"p{number:04}").req(cpu="500m") for number in range(300)))
    settle(host)
    assert len(exported(cluster)) < 2_000 * cycles(cluster)
