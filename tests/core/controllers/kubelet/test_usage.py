"""Models of usage: what they say, their bounds, and when they pass a limit; checked against looking every moment."""

from __future__ import annotations

import random

import pytest

from scheduler_core.controllers.kubelet.usage import Constant, Ramp, Sine, Trace, Usage, parse_usage
from tests.cases import cases

MI = 1024 * 1024
SECOND = 1_000_000


@cases(
    "resource, text, want",
    ("constant", "memory", "300Mi", Constant(300 * MI)),
    ("thousandths of a core", "cpu", "1500m", Constant(1500)),
    ("ramp", "memory", "ramp(100Mi, 600Mi, 2m)", Ramp(100 * MI, 600 * MI, 120 * SECOND)),
    ("sine", "pids", "sine(200,50,60s)", Sine(200, 50, 60 * SECOND)),
    ("trace", "inodes", "trace(0s=1k, 30s=5k)", Trace((0, 30 * SECOND), (1000, 5000))),
    ("trace that begins late", "memory", "trace(10s=1Mi)", Trace((0, 10 * SECOND), (0, MI))),
)
def test_text_is_read(resource: str, text: str, want: Usage) -> None:
    assert parse_usage(resource, text) == want


@cases(
    "text, problem",
    ("no quantity", "much", "quantities must match"),
    ("negative", "-1Mi", "negative"),
    ("too few parts", "ramp(1Mi, 2Mi)", "two amounts and a time"),
    ("no time", "ramp(1Mi, 2Mi, 0s)", "more than 0"),
    ("open bracket", "ramp(1Mi, 2Mi, 5s", "closing bracket"),
    ("unknown model", "spike(1Mi)", "none of ramp, sine, trace"),
    ("no time in the trace", "trace(1Mi)", "not of the form"),
    ("times that do not ascend", "trace(5s=1Mi, 5s=2Mi)", "ascend"),
    ("time before the start", "trace(-5s=1Mi)", "negative"),
    ("too long", "1" * 3000, "longer than"),
)
def test_text_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_usage("memory", text)


def models(draw: random.Random) -> list[Usage]:
    times = sorted(draw.sample(range(1, 500), 4))
    return [
        Constant(draw.randrange(1000)),
        Ramp(draw.randrange(1000), draw.randrange(1000), draw.randrange(1, 500)),
        Sine(draw.randrange(1000), draw.randrange(400), draw.randrange(4, 500)),
        Trace((0, *times), tuple(draw.randrange(1000) for _ in range(5))),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_and_limits_are_passed_when_they_say(seed: int) -> None:
    draw = random.Random(seed)
    for model in models(draw):
        begin = draw.randrange(600)
        end = begin + draw.randrange(400)
        seen = [model.at(time) for time in range(begin, end + 1)]
        low, high = model.bounds(begin, end)
        assert low <= min(seen) and max(seen) <= high
        ever_low, ever_high = model.bounds(begin, None)
        assert ever_low <= low and high <= ever_high
        limit = draw.randrange(1100)
        first = next((time for time in range(3000) if model.at(time) > limit), None)
        told = model.first_above(limit)
        if first is None:
            # A sine's peak may lie between two moments.
            assert told is None or isinstance(model, Sine)
        else:
            assert told is not None and abs(told - first) <= 1


def test_bounds_of_a_constant_and_a_trace_are_tight() -> None:
    assert Constant(7).bounds(0, None) == (7, 7)
    trace = Trace((0, 10, 20), (5, 9, 1))
    assert [trace.bounds(*span) for span in ((0, 9), (0, 10), (12, 15), (20, None))] == [(5, 5), (5, 9), (9, 9), (1, 1)]
