"""Room on disk for 10,000 attempts with everything that is kept of them, for the benchmark workloads W1 and W5.

Those on 120 nodes are small ones of our own; the others are those of the race with kube-scheduler, and skipped where
they are not beside the project. Without --long fewer pods are scheduled, and what they take is multiplied.
"""

import copy
import gzip
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.db import connection

from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.scheduling.runner import bindings
from kschedweb.traces.models import Attempt
from tests.web.scheduling.conftest import put, scheduled
from tests.web.scheduling.rows import TableRows, table_rows, told

pytestmark = pytest.mark.django_db(transaction=True)

SMALL = ROOT / "tests" / "recordings" / "workloads"
WORKLOADS = ROOT.parent / "shared" / "bench" / "workloads"
TOLD_OF = 10_000
# For one pod from its arrival to its binding: both logs, attempt, matrix, event and work, with indexes.
BUDGET_BYTES = 9_000
# Of an attempt, by the number of nodes.
MATRIX_BYTES = {120: 512, 1_000: 1_024, 5_000: 4_096}


def named(workload: dict[str, Any], templates: str, chosen: list[int], name: str) -> Iterator[dict[str, Any]]:
    for number, template in enumerate(chosen):
        manifest = copy.deepcopy(workload[templates][template])
        manifest["metadata"]["name"] = f"{name}-{number:05}"
        manifest["metadata"].pop("uid", None)  # of the template
        if name == "node":
            manifest["metadata"].setdefault("labels", {})["kubernetes.io/hostname"] = f"{name}-{number:05}"
        yield manifest


@pytest.mark.parametrize(
    ("nodes", "pods"),
    [
        (120, 500),
        pytest.param(1_000, 500, marks=pytest.mark.slow),
        pytest.param(5_000, 500, marks=pytest.mark.slow),
        pytest.param(1_000, 10_000, marks=pytest.mark.slow),
        pytest.param(5_000, 10_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("workload", ["W1", "W5"])
def test_attempts_keep_to_their_room(
    workload: str, nodes: int, pods: int, cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    small = SMALL / f"{workload}_n{nodes}_p60.json.gz"
    path = small if small.exists() else WORKLOADS / f"{workload}_n{nodes}_e0_p2000.json.gz"
    if not path.exists():
        pytest.skip(f"no {path.name} in ../shared/bench/workloads")
    given = orjson.loads(gzip.decompress(path.read_bytes()))
    host = scheduled(cluster, *named(given, "nodeTemplates", given["nodeTemplateOf"], "node"))
    before = table_rows()
    templates = given["podTemplateOf"]
    arriving = list(named(given, "podTemplates", [templates[i % len(templates)] for i in range(pods)], "pod"))
    for first in range(0, pods, 1_000):
        put(cluster, *arriving[first : first + 1_000])
        while True:  # pods that fit nowhere are left to wait
            outcome = host.step()
            if not bindings.bindings_run(cluster.pk) and not outcome.changes and not outcome.cycles:
                break
    attempts = Attempt.objects.count()
    assert attempts >= pods
    scale = TOLD_OF / attempts
    grown = {
        table: TableRows(
            round((size.rows - before[table].rows) * scale), round((size.bytes - before[table].bytes) * scale)
        )
        for table, size in table_rows().items()
        if table != "traces_queuestate"
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT avg(pg_column_size(matrix)), avg(pg_column_size(a.*)) FROM traces_attempt a")
        matrix, row = (float(value) for value in cursor.fetchone())
    record_property("figures", f"for {TOLD_OF} attempts ({attempts} made):\n{told(grown)}")
    record_property("figures", f"  matrix {matrix:.0f} bytes, row {row:.0f} bytes an attempt")
    assert matrix <= MATRIX_BYTES[nodes]
    assert sum(size.bytes for size in grown.values()) / TOLD_OF <= BUDGET_BYTES
