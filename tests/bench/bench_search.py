"""How fast the search answers: 30,000 pods present, 300,000 gone; and what a pod that goes costs for it.

The dashboard asks for everything but gone pods first, then for these; `./ksched find` asks for all at once.

    .venv/bin/python -m pytest -q -s -p no:cacheprovider tests/bench/bench_search.py

Not run with the tests: it judges by time.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from kschedweb.common import bulk, packing
from kschedweb.traces.selectors.searching import KINDS
from tests.web.conftest import _valkey_runs, django_db_modify_db_settings
from tests.web.rest import items, logged_in, node, upload

__all__ = ["_valkey_runs", "django_db_modify_db_settings"]

pytestmark = pytest.mark.django_db(transaction=True)

PRESENT, GONE, NODES, PENDING, WORKLOADS = 30_000, 300_000, 5_000, 1_000, 500
ROUNDS = int(os.environ.get("ROUNDS", "20"))
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
# What people type: words that many, few and no names match, letter by letter.
WORDS = {
    "empty": [""],
    "one letter": ["o", "w", "2"],
    "start of many names": ["openb", "web-", "batch-import-"],
    "start of a word": ["pod-", "shop", "0299"],
    "whole name, present": ["openb-pod-300010"],
    "whole name, gone": ["openb-pod-001234"],
    "parts in order": ["opod1234", "wshop", "bis"],
    "in the middle": ["enb-p", "mport", "hop-"],
    "nothing": ["nothing-has-this", "zqzq77", "openb-pod-x"],
    "letters in order, no parts": ["nbpd", "eb7", "ob-9"],
    "namespace": ["shop/web", "n3/openb"],
}
ASKED = {
    "first results": ",".join(kind for kind in KINDS if kind != "gonepod"),
    "gone pods": "gonepod",
    "all at once": ",".join(KINDS),
}
_CHANGE = ("cluster_id", "rv", "kind", "namespace", "name", "uid", "operation", "object", "actor", "at")
_POD = ("cluster_id", "namespace", "name", "uid", "rv", "node_name", "phase", "priority", "scheduler_name",
    "nominated_node_name", "gated", "requests", "created_at", "condition_reason", "condition_message",
    "owner", "manifest")  # fmt: skip


def name_of(draw: Random, number: int) -> str:
    """As of a trace, and as of Deployments, in turn."""
    if number % 2 == 0:
        return f"openb-pod-{number:06}"
    base = f"{draw.choice(('web', 'api', 'worker', 'batch-import', 'cache'))}-{draw.choice(('shop', 'attic', 'blue'))}"
    return f"{base}-{draw.getrandbits(36):09x}-{''.join(draw.choices(LETTERS, k=5))}"


def changes(cluster_id: int, first: int, count: int, operations: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    draw, at = Random(first), timezone.now() - timedelta(hours=1)
    content = [packing.compressed(draw.randbytes(600)) for _ in range(100)]
    rv = first * len(operations)
    for number in range(first, first + count):
        name, uid, namespace = name_of(draw, number), f"{draw.getrandbits(128):032x}", f"n{number % 7}"
        for operation in operations:
            rv += 1
            yield cluster_id, rv, "Pod", namespace, name, uid, operation, content[rv % 100], "system", at


def pods(cluster_id: int) -> Iterator[tuple[Any, ...]]:
    draw, at = Random(1), timezone.now()
    content = packing.compressed(draw.randbytes(700))
    for number in range(PRESENT):
        bound = number >= PENDING
        yield (cluster_id, ("shop", "n3")[number % 2], name_of(draw, GONE + number), f"p{number}", 1,
            f"node-{number % NODES}" if bound else "", "Running" if bound else "Pending", 0, "default-scheduler", "",
            False, bulk.json_text({"cpu": 100}), at, "", "", "", content)  # fmt: skip


@pytest.fixture
def filled() -> Cluster:
    cluster = services.cluster_create(name="large")
    assert upload(logged_in(), cluster, items(*(node(f"node-{number}") for number in range(NODES)))).status_code < 300
    bulk.copy_rows("cluster_change", _CHANGE, changes(cluster.pk, 10_000, GONE, ("updated", "deleted")))
    bulk.copy_rows("cluster_pod", _POD, pods(cluster.pk))
    end = (10_000 + GONE) * 2
    Cluster.objects.filter(pk=cluster.pk).update(rv=end)
    with connection.cursor() as cursor:
        # As autovacuum does within a minute or two; a snapshot that is open meanwhile keeps pages from being marked.
        for table in ("cluster_change", "cluster_pod"):
            share = 0.0
            while share < 0.99:
                cursor.execute(f"VACUUM ANALYZE {table}")
                cursor.execute("SELECT relallvisible / relpages::float FROM pg_class WHERE relname = %s", [table])
                (share,) = cursor.fetchone()
    return cluster


def processor_ms(backend: int) -> float:
    """What this thread and the connection's backend have used of a processor: the time on a machine without others."""
    nanoseconds = int(Path(f"/proc/{backend}/schedstat").read_text().split()[0])
    return time.thread_time() * 1000 + nanoseconds / 1e6


def times(client: APIClient, words: list[str], kinds: str, rounds: int) -> list[tuple[float, float]]:
    """Milliseconds of each whole request: passed, and of the processor."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    found = []
    for _ in range(rounds):
        for word in words:
            before, used = time.perf_counter(), processor_ms(backend)
            answer = client.get("/api/search", {"q": word, "kinds": kinds})
            found.append(((time.perf_counter() - before) * 1000, processor_ms(backend) - used))
            assert answer.status_code == 200
    return found


def line(label: str, found: list[tuple[float, float]]) -> str:
    passed, used = ([each[column] for each in found] for column in (0, 1))
    figures = (median(passed), quantiles(passed, n=20)[-1], median(used), quantiles(used, n=20)[-1])
    return f"| {label} | {' | '.join(f'{figure:.0f}' for figure in figures)} |"


def test_search_of_a_large_cluster(filled: Cluster) -> None:
    client = logged_in()
    print(f"\n{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
          f"{PRESENT:,} pods present, {GONE:,} gone, {NODES:,} nodes; {ROUNDS} rounds")  # fmt: skip
    for asked, kinds in ASKED.items():
        print(f"\n| typed: {asked} | p50 ms | p95 ms | p50 CPU ms | p95 CPU ms |\n| --- | ---: | ---: | ---: | ---: |")
        everything: list[tuple[float, float]] = []
        for label, words in WORDS.items():
            times(client, words, kinds, 1)
            found = times(client, words, kinds, ROUNDS)
            everything += found
            print(line(label, found), flush=True)
        print(line("all of these", everything))


def test_what_a_pod_that_goes_costs_for_it(filled: Cluster) -> None:
    """COPY of deletions into the log with the index and without it, in turn; CPU of the backend would be less."""
    lots, size = 8, 5_000
    spent: dict[bool, list[float]] = {True: [], False: []}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size('change_gone_pods') / %s::float", [GONE])
        (bytes_each,) = cursor.fetchone()
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'change_gone_pods'")
        (definition,) = cursor.fetchone()
        for lot in range(lots):
            rows = list(changes(filled.pk, 1_000_000 + lot * size, size, ("deleted",)))
            if lot % 2:
                cursor.execute("DROP INDEX change_gone_pods")
            before = time.perf_counter()
            bulk.copy_rows("cluster_change", _CHANGE, rows)
            spent[not lot % 2].append((time.perf_counter() - before) / size * 1e6)
            if lot % 2:
                cursor.execute(definition)
    more = min(spent[True]) - min(spent[False])
    print(f"\nindex: {bytes_each:.0f} bytes and {more:.1f} µs for each pod that goes, nothing for any other change")
    print(f"{min(spent[True]):.1f} µs with it, {min(spent[False]):.1f} µs without")
