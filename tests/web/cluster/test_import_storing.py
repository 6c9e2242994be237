"""What becomes of an upload that waits: stored in pieces, whole or not at all, and taken by a worker as it came."""

from __future__ import annotations

import gzip
import io
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

import msgspec
import orjson
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from kschedweb.cluster import runner, services
from kschedweb.cluster.intake.files import Received, Upload
from kschedweb.cluster.models import Cluster, Import, ImportPiece, Pod
from kschedweb.cluster.services import imports
from tests.waiting import HANG_SECONDS
from tests.web.rest import items, logged_in, node, pod, upload

MIB = 1 << 20
LARGE = orjson.dumps(items(node(), pod("a"), pod("b"))) + b" " * (3 * MIB + 12_345)


def take(cluster: Cluster, *uploads: Received) -> Import:
    return services.import_take(cluster_id=cluster.pk, uploads=uploads, options=services.ImportOptions(), actor="x")


@contextmanager
def memory_within(most: int) -> Iterator[None]:
    """What is done inside takes less memory than so many bytes."""
    tracemalloc.start()
    try:
        yield
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < most


def test_storing_an_upload_takes_the_memory_of_a_piece(cluster: Cluster) -> None:
    with tempfile.TemporaryFile() as file:
        for _ in range(40):
            file.write(b" " * MIB)
        received = Received("u.json", cast(BinaryIO, file), 40 * MIB)
        with memory_within(8 * MIB):
            row = take(cluster, received)
    assert row.status == "queued"
    assert ImportPiece.objects.filter(of_import=row).count() == 40


def test_taking_an_import_takes_memory_in_proportion(cluster: Cluster) -> None:
    pods = [pod(f"p{i}", annotations={"a": "x" * 200}, labels={"n": str(i)}) for i in range(1_000)]
    content = orjson.dumps(items(*pods))
    with memory_within(20 * len(content)):
        services.import_apply(
            cluster_id=cluster.pk, uploads=[Upload("u", content)], options=services.ImportOptions(), actor="x"
        )


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_upload_is_taken_by_a_worker_as_it_came(cluster: Cluster, packed: bool) -> None:
    first = gzip.compress(LARGE, 0) if packed else LARGE
    second = orjson.dumps(pod("c"))
    row = take(cluster, Received.of("one.json", first), Received.of("two.json", second))
    assert (row.status, row.files) == ("queued", ["one.json", "two.json"])
    runner.import_execute(str(row.pk))
    row.refresh_from_db()
    assert row.report is not None
    assert [(told["name"], told["bytes"]) for told in row.report["files"]] == [
        ("one.json", len(LARGE)),
        ("two.json", len(second)),
    ]
    assert (row.status, row.files) == ("done", []) and not ImportPiece.objects.exists()
    assert sorted(Pod.objects.values_list("name", flat=True)) == ["a", "b", "c"]


def test_upload_that_breaks_off_while_it_is_stored_leaves_nothing(cluster: Cluster) -> None:
    class Breaking(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= 2 * MIB and size == imports.STORED_PIECE_BYTES:
                raise OSError("the disk is gone")
            return super().read(size)

    with pytest.raises(OSError, match="the disk is gone"):
        take(cluster, Received("u.json", Breaking(LARGE), len(LARGE)))
    assert not Import.objects.exists() and not ImportPiece.objects.exists()


@pytest.fixture
def nobody_has_a_turn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As many requests as may are at work on their uploads."""
    monkeypatch.setattr(imports, "SYNC_WAIT_SECONDS", 0.01)
    with ExitStack() as stack:
        while stack.enter_context(imports._reading.within(0)):
            pass
        yield


def test_small_upload_waits_for_a_worker_when_others_are_at_work(cluster: Cluster, nobody_has_a_turn: None) -> None:
    client = logged_in()
    good = upload(client, cluster, items(pod("a")))
    bad = upload(client, cluster, items(pod("b"), pod("b")))
    assert (good.status_code, bad.status_code) == (202, 202)
    for answer in (good, bad):
        runner.import_execute(answer.json()["id"])
    assert client.get(good["Location"]).json()["report"]["kinds"] == {"Pod": {"created": 1}}
    error = client.get(bad["Location"]).json()["error"]
    assert error["code"] == "upload_invalid"
    assert "document 1, item 2 (Pod default/b): metadata.name: the name stands twice" in error["message"]


@pytest.mark.django_db(transaction=True)
def test_large_uploads_are_stored_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds a connection, of which a web process has eight."""
    cluster = services.cluster_create(name="c")
    lock, inside, most = threading.Lock(), 0, 0
    together = threading.Barrier(imports.STORED_AT_ONCE)

    def copy_rows(*_: Any) -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        together.wait(HANG_SECONDS)
        with lock:
            inside -= 1

    def store(number: int) -> str:
        try:
            return str(take(cluster, Received(f"u{number}.json", io.BytesIO(LARGE), len(LARGE))).status)
        finally:
            connection.close()

    monkeypatch.setattr(imports.bulk, "copy_rows", copy_rows)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(store, range(8))) == {"queued"}
    assert most == imports.STORED_AT_ONCE


def test_turn_is_given_back_whatever_the_upload_comes_to(cluster: Cluster) -> None:
    client = logged_in()
    for _ in range(5):
        assert upload(client, cluster, items(pod("a"), pod("a"))).status_code == 422
        assert upload(client, cluster, items(pod("a"))).status_code == 201


def test_cluster_goes_with_imports_that_wait(cluster: Cluster) -> None:
    take(cluster, Received.of("u.json", LARGE))
    services.cluster_delete(cluster_id=cluster.pk)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert not Import.objects.exists() and not ImportPiece.objects.exists()


@pytest.mark.parametrize("path", ["import", "objects"])
def test_small_upload_that_unpacks_to_much_is_not_unpacked_in_the_request(cluster: Cluster, path: str) -> None:
    body = gzip.compress(b"- \n" * (40 * MIB // 3))
    assert len(body) < MIB // 4
    client, address = logged_in(), f"/api/clusters/{cluster.pk}/{path}"
    client.generic("POST", address, gzip.compress(b"- \n"), content_type="text/plain")  # loads the code
    with memory_within(10 * MIB):
        answer = client.generic("POST", address, body, content_type="text/plain")
    assert answer.status_code == {"import": 202, "objects": 400}[path]


@pytest.mark.django_db(transaction=True)
def test_imports_that_wait_survive_an_upgrade_and_the_way_back() -> None:
    def migrate(name: str) -> Any:
        executor = MigrationExecutor(connection)
        executor.migrate([("cluster", name)])
        return MigrationExecutor(connection).loader.project_state([("cluster", name)]).apps

    cluster = services.cluster_create(name="c")
    files = [("one.json", LARGE), ("two.json", orjson.dumps(pod("c")))]
    try:
        before = migrate("0006_pods_without_a_check_per_row")
        old = before.get_model("cluster", "Import").objects.create(
            cluster_id=cluster.pk, actor="x", options={}, payload=msgspec.msgpack.encode(files)
        )
        migrate("0009_no_payloads")
        before = migrate("0006_pods_without_a_check_per_row")
        payload = bytes(before.get_model("cluster", "Import").objects.get(pk=old.pk).payload)
        assert msgspec.msgpack.decode(payload, type=list[tuple[str, bytes]]) == files
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())  # other apps went back with this one
    runner.import_execute(str(old.pk))
    assert Import.objects.get(pk=old.pk).status == "done"
    assert sorted(Pod.objects.values_list("name", flat=True)) == ["a", "b", "c"]
