"""Of messages to a task that lingers no more than one for each cluster waits, and none is missing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.common import wake

MANY = 50


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(wake, "send", lambda name, *, cluster_id: sent.append((name, cluster_id)))
    return sent


@pytest.fixture
def task() -> str:
    """A name that no other test knows."""
    return f"test.{os.getpid()}.{os.urandom(4).hex()}"


def test_one_message_waits_until_its_task_begins(sent: list[tuple[str, int]], task: str) -> None:
    for _ in range(MANY):
        wake.once(task, 1)
    wake.once(task, 2)
    wake.once(f"{task}.other", 1)
    assert sent == [(task, 1), (task, 2), (f"{task}.other", 1)]
    wake.begun(task, 1)
    for _ in range(MANY):
        wake.once(task, 1)
        wake.once(task, 2)
    assert sent[3:] == [(task, 1)], "what is written after the task has begun needs another"


def test_message_that_is_lost_is_not_waited_for_for_ever(
    sent: list[tuple[str, int]], task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake, "WAITS_SECONDS", 1)
    wake.once(task, 1)
    while len(sent) < 2:
        wake.once(task, 1)
    assert sent == [(task, 1)] * 2


def test_without_valkey_it_is_a_line_in_the_log(
    sent: list[tuple[str, int]], task: str, settings: Any, log_lines: Callable[[], list[str]]
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    wake._valkey.cache_clear()
    try:
        wake.once(task, 1)
        wake.begun(task, 1)
    finally:
        wake._valkey.cache_clear()
    assert not sent
    assert len([line for line in log_lines() if "the sweep will find the work" in line]) == 2
