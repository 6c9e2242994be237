"""What `GET …/fits` takes, REST included, with 20 pods on each node: `pytest tests/bench/bench_fits.py -s`.

No speed is asserted. KSCHED_NODES makes another size, KSCHED_PENDING another number of pods that are asked about: each
is kept away for one reason or two. No test of the suite: its name keeps it from being collected unless asked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from statistics import quantiles
from typing import Any

import pytest

from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services.objects import PutOptions, objects_put
from tests.builders import make_manifest, make_node, make_pod
from tests.web.rest import logged_in

pytestmark = pytest.mark.django_db(transaction=True)

NODES = int(os.environ.get("KSCHED_NODES", "1000"))
PENDING = int(os.environ.get("KSCHED_PENDING", "200"))
PODS_ON_NODE = 20
AT_ONCE = 2_000
WEB = {"app": "web"}
CLASSES = {"low": 0, "middle": 100, "high": 300}


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres_url: str) -> None:
    """Start PostgreSQL before Django makes its test database."""


def put(cluster: Cluster, manifests: Iterable[dict[str, Any]]) -> None:
    rest = iter(manifests)
    while batch := list(islice(rest, AT_ONCE)):
        items = [Item(Place("bench"), each, str(each["apiVersion"]), str(each["kind"])) for each in batch]
        objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor="bench")


def nodes(draws: Random) -> Iterator[dict[str, Any]]:
    for number in range(NODES):
        node = make_node(f"n{number}").zone(f"z{number % 3}").capacity(cpu="16", memory="64Gi", pods="110")
        node.label({"disk": draws.choice(["ssd", "hdd"])})
        if number % 10 == 0:
            node.taint("only", "db")
        yield node.manifest()


def placed(draws: Random) -> Iterator[dict[str, Any]]:
    for number in range(NODES * PODS_ON_NODE):
        pod = (
            make_pod(f"p{number}")
            .label(WEB)
            .spec(priorityClassName=draws.choice(list(CLASSES)))
            .on(f"n{number % NODES}")
        )
        yield pod.req(cpu=draws.choice(["500m", "600m", "700m"]), memory="2Gi").manifest()


def waiting(draws: Random, number: int) -> dict[str, Any]:
    """Kept from all nodes by one reason, or by two."""
    pod, reasons = (
        make_pod(f"it{number}").label(WEB).spec(priorityClassName="middle"),
        draws.sample(range(5), draws.randint(1, 2)),
    )
    asked = {"cpu": "100m", "memory": "100Mi"}
    for reason in reasons:
        match reason:
            case 0:
                asked["cpu"] = draws.choice(["12", "17", "24"])
            case 1:
                asked["memory"] = draws.choice(["40Gi", "70Gi"])
            case 2:
                pod.node_selector(disk="nvme")
            case 3:
                pod.spread("rack", WEB, max_skew=1)
            case 4:
                pod.required_node_affinity({"matchExpressions": [{"key": "rack", "operator": "Exists"}]})
    return pod.req(**asked).manifest()


def test_fits_is_measured(valkey_url: str) -> None:
    draws, cluster = Random(1), Cluster.objects.create(name="fits", seed=1)
    put(cluster, [make_manifest("PriorityClass", name, value=value) for name, value in CLASSES.items()])
    put(cluster, nodes(draws))
    put(cluster, placed(draws))
    put(cluster, [waiting(draws, number) for number in range(PENDING)])
    client, taken, tried = logged_in(), list[float](), list[int]()
    for number in (0, *range(PENDING)):
        begun = time.perf_counter()
        answer = client.get(f"/api/clusters/{cluster.pk}/pods/default/it{number}/fits")
        taken.append(time.perf_counter() - begun)
        assert answer.status_code == 200, answer.content
        tried.append(answer.json()["tried"])
    (first, *rest), tried = taken, tried[1:]
    twentieths = quantiles(rest, n=20)
    print(f"\n{NODES:,} nodes, {NODES * PODS_ON_NODE:,} pods, {PENDING} asked about: the first answer {first:.1f} s,")
    print(f"then median {quantiles(rest, n=2)[0]:.3f} s, p95 {twentieths[18]:.3f} s, longest {max(rest):.3f} s")
    slowest = sorted(range(PENDING), key=lambda number: -rest[number])[:3]
    print(
        "the slowest: " + ", ".join(f"it{number} {rest[number]:.3f} s, {tried[number]:,} cycles" for number in slowest)
    )
