"""The binder asks for an ordinary binding and never declines."""

from __future__ import annotations

from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.status import SUCCESS
from tests.builders import make_pod
from tests.core.plugins.support import make_plugin


def test_bind_takes_every_pod() -> None:
    assert make_plugin("DefaultBinder").bind(CycleState(), make_pod().build(), "n1") == SUCCESS
