"""Samples as upstream's collector takes them, one a second."""

import pytest

from tests.cases import cases
from tools.bench.scheduler_perf.throughput import SECOND_US, samples_of, throughput_of

START = 50 * SECOND_US


def at(*seconds: float) -> list[int]:
    return [START + int(each * SECOND_US) for each in seconds]


@cases(
    "scheduled, ended, want",
    ("nothing within two seconds", [0.1, 0.2, 0.3], 1.9, []),
    ("the first look only starts the count", [0.5] * 5 + [1.5] * 7, 2.0, [7.0]),
    ("nor do looks before the first pod", [2.5] * 5 + [3.5] * 6, 4.0, [6.0]),
    ("a second without a pod counts with the next that has some", [0.5, *[3.5] * 30], 4.0, [10.0, 10.0, 10.0]),
    ("seconds without a pod at the end do not count", [0.5, 1.5, 1.6], 9.0, [2.0]),
    ("a pod on the second is seen", [0.5, 2.0], 2.0, [1.0]),
)  # fmt: skip
def test_samples(scheduled: list[float], ended: float, want: list[float]) -> None:
    assert samples_of(START, at(ended)[0], at(*scheduled)) == want


def test_average_and_percentiles_are_over_the_samples() -> None:
    pods = [0.5, *[1.5] * 10, *[2.5] * 20, *[3.5] * 60]
    found = throughput_of("ns", START, at(4)[0], 2.5, at(*pods))
    assert (found.pods, found.seconds, found.busy_seconds, found.samples) == (91, 4.0, 2.5, 3)
    assert (found.average, found.judged) == (30.0, 30.0)
    assert found.percentiles == {"p50": 20.0, "p90": 60.0, "p95": 60.0, "p99": 60.0}
    assert found.rate == pytest.approx(91 / 3.5)


def test_rate_stands_in_where_there_are_no_samples() -> None:
    found = throughput_of("ns", START, at(1)[0], 0.5, at(0.25, 0.5))
    assert (found.average, found.percentiles, found.rate, found.judged) == (None, {}, 4.0, 4.0)
    nothing = throughput_of("ns", START, at(1)[0], 0.5, [])
    assert (nothing.pods, nothing.rate, nothing.judged) == (0, 0.0, 0.0)
