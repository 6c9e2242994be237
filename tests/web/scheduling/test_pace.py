"""The pace says how many cycles a step may run, and when the next may come."""

from kschedweb.scheduling.runner.pace import Allowance, PaceSetting
from tests.cases import cases

RUN = PaceSetting("run", None, 0)


def slow(rate: float, steps: int = 0) -> PaceSetting:
    return PaceSetting("slow", rate, steps)


def paused(steps: int = 0) -> PaceSetting:
    return PaceSetting("pause", None, steps)


@cases(
    "setting, want",
    ("running takes the whole budget", RUN, 200),
    ("paused takes none", paused(), 0),
    ("paused takes what was asked for", paused(3), 3),
    ("and never more than the budget", paused(500), 200),
    ("slow begins with one", slow(2.0), 1),
    ("steps come on top of a slow pace", slow(2.0, steps=2), 3),
)
def test_cycles_of_the_first_step(setting: PaceSetting, want: int) -> None:
    assert Allowance().cycles(setting, monotonic=100.0, most=200) == want


def test_slow_pace_runs_its_rate_over_ten_seconds() -> None:
    allowance = Allowance()
    run = 0
    for tick in range(1001):  # a look every 10 ms
        cycles = allowance.cycles(slow(3.0), monotonic=tick / 100, most=200)
        allowance.spend(cycles)
        run += cycles
    assert run in (30, 31)


def test_slow_pace_saves_up_no_more_than_a_second() -> None:
    allowance = Allowance()
    allowance.cycles(slow(5.0), monotonic=0.0, most=200)
    assert allowance.cycles(slow(5.0), monotonic=3600.0, most=200) == 5


@cases(
    "setting, want",
    ("running: at once", RUN, 0.0),
    ("paused: only when told", paused(), None),
    ("asked to step: at once", paused(1), 0.0),
    ("slow: when the next cycle is saved up", slow(4.0), 0.25),
)
def test_seconds_until_next_when_nothing_is_saved(setting: PaceSetting, want: float | None) -> None:
    allowance = Allowance(tokens=0.0)
    assert allowance.seconds_until_next(setting) == want
