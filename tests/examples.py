"""On how many random examples a property is tried: few in every run, many with `--long`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

LONG_FACTOR = 10

_factor = 1


def try_many() -> None:
    """Called before tests are collected, for a run with `--long`."""
    global _factor
    _factor = LONG_FACTOR


def examples(count: int, **more: Any) -> settings:
    """Settings for `count` examples, ten times as many in a long run; no deadline, machines may be busy."""
    return settings(max_examples=count * _factor, deadline=None, **more)


def walks(count: int, *, steps: int) -> settings:
    """The same for state machines: so many walks of so many steps."""
    return examples(count, stateful_step_count=steps, suppress_health_check=list(HealthCheck))


def seeds(few: int, all_there_are: int) -> list[Any]:
    """Numbers from 0 for `parametrize`: a few in every run, all with --long."""
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed >= few else []) for seed in range(all_there_are)]
