"""The plugin as the profile sees it: its gate, its message, its registration; the search itself is tested elsewhere."""

from __future__ import annotations

import pytest

from scheduler_core.config.types import DefaultPreemptionArgs
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import ActionType, EventResource
from scheduler_core.plugins.default_preemption import UNDER_WAY, DefaultPreemption
from tests.builders import make_pod
from tests.cases import cases

POD = make_pod("p").build()


def plugin(args: DefaultPreemptionArgs | None = None) -> DefaultPreemption:
    return DefaultPreemption(args, handle=None)  # type: ignore[arg-type]


def test_pre_enqueue_refuses_the_preemptor_while_its_victims_are_asked_to_leave() -> None:
    preemption = plugin()
    assert preemption.pre_enqueue(POD).is_success
    preemption.executor.preempting[POD.uid] = None
    assert preemption.pre_enqueue(POD).reasons == (UNDER_WAY,)


def test_deletions_are_heard_of_and_left_to_other_plugins() -> None:
    (registration,) = plugin().events_to_register()
    assert (registration.event.resource, registration.event.action) == (EventResource.POD, ActionType.DELETE)
    assert registration.hint is not None
    assert registration.hint(POD, make_pod("gone").on("n1").build(), None) is QueueingHint.SKIP


@cases(
    "args",
    ("percentage above 100", DefaultPreemptionArgs(101, 1)),
    ("negative percentage", DefaultPreemptionArgs(-1, 1)),
    ("negative number", DefaultPreemptionArgs(10, -1)),
    ("both zero", DefaultPreemptionArgs(0, 0)),
)
def test_args_are_refused_when(args: DefaultPreemptionArgs) -> None:
    with pytest.raises(ConfigError):
        plugin(args)
