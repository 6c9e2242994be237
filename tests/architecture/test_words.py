"""The dashboard explains every name of the engine that it shows: cluster events, and phases of an attempt."""

import json
import re

import pytest

from kschedweb.environment import ROOT
from scheduler_core.model.events import (
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    POP_FROM_BACKOFF_Q,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    ActionType,
    ClusterEvent,
    EventResource,
)

LANGUAGES = ("en", "zh-Hans")
EVERY = (ActionType.ADD, ActionType.DELETE, ActionType.UPDATE)
# Names in registrations of plugins; nothing that happens is called so.
REGISTERED_ONLY = (EventResource.POD, EventResource.WILDCARD)
OF_ITSELF = {
    SCHEDULE_ATTEMPT_FAILURE,
    BACKOFF_COMPLETE,
    POP_FROM_BACKOFF_Q,
    UNSCHEDULABLE_TIMEOUT.label,
    FORCE_ACTIVATE.label,
}


def actions_on(resource: EventResource) -> list[ActionType]:
    of_kind = {
        EventResource.ASSIGNED_POD: "UPDATE_POD_",
        EventResource.UNSCHEDULABLE_POD: "UPDATE_POD_",
        EventResource.NODE: "UPDATE_NODE_",
    }.get(resource)
    return [*EVERY, *(one for one in ActionType if of_kind and one.name and one.name.startswith(of_kind))]


def happenings() -> set[str]:
    """All that can be told to have moved a pod."""
    resources = [one for one in EventResource if one not in REGISTERED_ONLY]
    return OF_ITSELF | {ClusterEvent(one, action).label for one in resources for action in actions_on(one)}


def phases() -> set[str]:
    source = (ROOT / "scheduler_core" / "scheduler" / "schedule_one.py").read_text()
    return set(re.findall(r"""\.end_of\("(\w+)"\)""", source))


def explained(texts: dict[str, str]) -> set[str]:
    """Events with words of their own, and kinds of object with each of the actions that have any."""
    own = {key.removeprefix("event.") for key in texts if key.startswith("event.")}
    kinds = {key.removeprefix("kind.") for key in own if key.startswith("kind.")}
    actions = {key.removeprefix("any.") for key in own if key.startswith("any.")}
    named = {one for one in own if not one.startswith(("kind.", "any."))}
    return named | {kind + action for kind in kinds for action in actions}


@pytest.fixture(params=LANGUAGES)
def texts(request: pytest.FixtureRequest) -> dict[str, str]:
    path = ROOT / "frontend" / "src" / "i18n" / f"{request.param}.json"
    found: dict[str, str] = json.loads(path.read_text())
    return found


def test_every_cluster_event_is_explained_and_no_other(texts: dict[str, str]) -> None:
    assert explained(texts) == happenings()


def test_every_phase_is_explained_and_no_other(texts: dict[str, str]) -> None:
    found = phases()
    assert "filter" in found
    assert {key.removeprefix("phase.") for key in texts if key.startswith("phase.")} == found
