"""Lists of a cluster with 100,000 attempts, first rows and total: `pytest tests/bench/bench_lists.py -s`.

No test of the suite: its name keeps it from being collected unless it is asked for. Figures of docs/benchmarks.md.
"""

import time
from typing import Any

import pytest

from kschedweb.cluster.models import Cluster
from tests.web.conftest import _valkey_runs, django_db_modify_db_settings, django_db_setup, lasting
from tests.web.rest import logged_in
from tests.web.traces.test_questions import stored

__all__ = ["_valkey_runs", "django_db_modify_db_settings", "django_db_setup", "lasting", "stored"]

TRIES = 7
LIMIT_MS = 300.0
ASKED = (
    ("attempts", "", ""),
    ("attempts", "", "-duration"),
    ("attempts", "", "seen"),
    ("attempts", "", "name"),
    ("attempts", "result:unschedulable", ""),
    ("attempts", "reason:cpu", ""),
    ("attempts", "reason:taint", ""),
    ("attempts", "plugin:TaintToleration reason:taint", ""),
    ("attempts", "plugin:TaintToleration", "-duration"),
    ("attempts", "pod-00001", ""),
    ("attempts", "no-such-pod", ""),
    ("attempts", "age<1h", ""),
    ("attempts", "age>9h -reason:cpu", ""),
    ("pods", "", ""),
    ("pods", "status:pending reason:taint", ""),
    ("pods", "attempts>0", "-attempts"),
)


@pytest.mark.django_db
def test_first_rows_come_soon(stored: Cluster) -> None:
    client = logged_in()
    late = []
    print("\n| list | query | order | rows | of | ms |\n| --- | --- | --- | ---: | ---: | ---: |")
    for what, query, sort in ASKED:
        asked = {"q": query} | ({"sort": sort} if sort else {})
        took, answer = [], {}
        for _ in range(TRIES):
            started = time.perf_counter()
            response: Any = client.get(f"/api/clusters/{stored.pk}/lists/{what}", asked)
            took.append((time.perf_counter() - started) * 1000)
            answer = response.json()
        count, total = len(answer["results"]), answer["total"]
        print(
            f"| {what} | `{query}` | {sort or 'as at first'} | {count} | {total:,} | {sorted(took)[TRIES // 2]:.0f} |"
        )
        if min(took) > LIMIT_MS:
            late.append((what, query, sort))
    assert not late
