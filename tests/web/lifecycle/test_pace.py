"""How often the controllers of a cluster act."""

import pytest

from kschedweb.lifecycle import runner


def test_what_is_due_soon_waits_for_what_falls_due_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    dues = [0.0, 0.02, 0.3, None]
    slept: list[float] = []
    monkeypatch.setattr(runner, "_act", lambda _: runner._Acted(dues.pop(0)))
    monkeypatch.setattr(runner.time, "sleep", slept.append)
    runner.tick(1)
    assert slept == [runner.ACT_SECONDS, runner.ACT_SECONDS, 0.3]
