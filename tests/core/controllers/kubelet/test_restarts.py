"""When containers are started again: at once, then after 10 s and twice as long each time, up to 300 s."""

from __future__ import annotations

import pytest

from scheduler_core.api.pod import Container
from scheduler_core.controllers.kubelet.restarts import back_off_text, back_off_told, delay_us, should_restart
from tests.builders import make_pod

SECOND = 1_000_000


def test_waits_double_up_to_five_minutes() -> None:
    waits: list[int] = []
    waited = None
    for _ in range(9):
        waited = delay_us(SECOND, waited)
        waits.append(waited // SECOND)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize(
    ("ran", "want"), [pytest.param(600, 300, id="ten minutes"), pytest.param(601, 0, id="more than ten minutes")]
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


@pytest.mark.parametrize(
    ("policy", "code", "is_init", "sidecar", "want"),
    [
        pytest.param("Always", 0, False, False, True, id="always, success"),
        pytest.param("", 1, False, False, True, id="no policy is always"),
        pytest.param("OnFailure", 0, False, False, False, id="on failure, success"),
        pytest.param("OnFailure", 1, False, False, True, id="on failure, failure"),
        pytest.param("Never", 1, False, False, False, id="never"),
        pytest.param("Always", 0, True, False, False, id="init container, success"),
        pytest.param("Always", 1, True, False, True, id="init container, failure"),
        pytest.param("Never", 1, True, False, False, id="init container, never"),
        pytest.param("Never", 0, True, True, True, id="sidecar"),
    ],
)
def test_restart_policy_decides(policy: str, code: int, is_init: bool, sidecar: bool, want: bool) -> None:
    container = Container("c", restart_policy="Always" if sidecar else None)
    assert should_restart(container, policy, code, is_init=is_init) is want
