"""The rows of docs/benchmarks.md one by one: `pytest tests/bench/bench_engine.py -s [-k W6]`. No speed is asserted.

No test of the suite: its name keeps it from being collected unless it is asked for.
"""

import pytest

from tools.bench import table
from tools.bench.measuring import measure
from tools.bench.options import WORKLOADS
from tools.bench.rows import Row, rows


@pytest.mark.parametrize("row", [pytest.param(row, id=row.key) for row in rows(str(WORKLOADS))])
def test_row_is_measured(row: Row) -> None:
    measured = measure(row.job, runs=1)
    print(f"\n{table.HEAD}\n{table.lines(measured.result, measured.details, row.job)}")
    assert measured.result.attempted >= measured.result.pods
