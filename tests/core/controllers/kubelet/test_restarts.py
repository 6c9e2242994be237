"""When containers are started again: at once, then after 10 s and twice as long each time, up to 300 s."""

from __future__ import annotations

import pytest

from scheduler_core.api.pod import Container
from scheduler_core.controllers.kubelet.restarts import back_off_text, back_off_told, delay_us, should_restart
from tests.builders import make_pod
from tests.cases import cases

SECOND = 1_000_000


def test_waits_double_up_to_five_minutes() -> None:
    waits: list[int] = []
    waited = None
    for _ in range(9):
        waited = delay_us(SECOND, waited)
        waits.append(waited // SECOND)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


@cases(
    "ran, want",
    ("ten minutes", 600, 300),
    ("more than ten minutes", 601, 0),
)
def test_long_run_begins_anew(ran: int, want: int) -> None:
    assert delay_us(ran * SECOND, 300 * SECOND) == want * SECOND


@pytest.mark.parametrize("waited", [10, 20, 40, 80, 160, 300])
def test_wait_is_told_and_read_again(waited: int) -> None:
    pod = make_pod("p").build()
    assert back_off_told(back_off_text(pod, "c", waited * SECOND)) == waited * SECOND


def test_wait_that_nobody_can_read_is_the_first() -> None:
    assert back_off_told("nothing of the kind") == 10 * SECOND
    assert back_off_told("back-off 9999h restarting failed container=c pod=p") == 300 * SECOND


@cases(
    "policy, code, is_init, sidecar, want",
    ("always, success", "Always", 0, False, False, True),
    ("no policy is always", "", 1, False, False, True),
    ("on failure, success", "OnFailure", 0, False, False, False),
    ("on failure, failure", "OnFailure", 1, False, False, True),
    ("never", "Never", 1, False, False, False),
    ("init container, success", "Always", 0, True, False, False),
    ("init container, failure", "Always", 1, True, False, True),
    ("init container, never", "Never", 1, True, False, False),
    ("sidecar", "Never", 0, True, True, True),
)
def test_restart_policy_decides(policy: str, code: int, is_init: bool, sidecar: bool, want: bool) -> None:
    container = Container("c", restart_policy="Always" if sidecar else None)
    assert should_restart(container, policy, code, is_init=is_init) is want
