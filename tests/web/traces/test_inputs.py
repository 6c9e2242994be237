"""What a request brings is read into structs; a refusal names every field that is wrong, and says how."""

from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.exceptions import ValidationError

from kschedweb import views
from kschedweb.common import asking
from kschedweb.rest import inputs
from tests.cases import cases


def problems(cls: type[views.Input], data: Any, *, is_text: bool = False) -> Any:
    with pytest.raises(ValidationError) as refused:
        asking.read(cls, data, is_text=is_text)
    return refused.value.detail


@pytest.mark.parametrize("blank", [" ", "\t", "\x1c"], ids=repr)
def test_text_is_looked_for_as_it_was_given(blank: str) -> None:
    asked = asking.read(views.RefusalQuery, {"reason": f"{blank}Too many pods{blank}"}, is_text=True)
    assert inputs.attempt_filter(asked, 0).reason == f"{blank}Too many pods{blank}"


def test_blanks_count_when_a_text_is_too_long() -> None:
    assert list(problems(views.PendingPodQuery, {"reason": "\x1c" + "a" * 1000}, is_text=True)) == ["reason"]


@cases(
    "cls, data, want",
    ("what is left out", views.ClusterCreate, {}, {"name": ["is required"]}),
    ("a list", views.ClusterCreate, [], ["expected an object"]),
    ("null", views.ClusterCreate, None, ["expected an object"]),
    ("a null field", views.ClusterChange, {"name": None}, {"name": ["expected text, got null (None)"]}),
    ("an empty text", views.ClusterChange, {"name": ""}, {"name": ["must not be empty ('')"]}),
    ("a NUL, which no column holds", views.ClusterChange, {"description": "a\0b"},
     {"description": ["has a character or a form that is not allowed ('a\\x00b')"]}),
    ("every field that is wrong", views.ClusterChange, {"lifecycle_mode": "melt", "retention_mb": 1, "name": 5},
     {"lifecycle_mode": ["expected one of frozen, simulate"], "retention_mb": ["must be at least 64 (1)"],
     "name": ["expected text, got an integer (5)"]}),
    ("a part of a part", views.NodeChange, {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b"}]},
     {"taints[1].effect": ["is required"]}),
    ("a number as text", views.Prune, {"hours": "1"}, {"hours": ["expected a number, got text ('1')"]}),
)  # fmt: skip
def test_body_is_refused_for(cls: type[views.Input], data: Any, want: Any) -> None:
    assert problems(cls, data) == want


@cases(
    "cls, query, field",
    ("below its least", views.MatrixQuery, {"offset": "-1"}, "offset"),
    ("a number of 5,000 digits", views.MatrixQuery, {"offset": "9" * 5000}, "offset"),
    ("neither true nor false", views.MatrixQuery, {"feasible": "maybe"}, "feasible"),
    ("a sort without its plugin", views.MatrixQuery, {"sort": "raw:"}, "sort"),
    ("none of the choices", views.ThroughputQuery, {"seconds": "2"}, "seconds"),
    ("no time", views.EventQuery, {"since": "yesterday"}, "since"),
    ("above its most", views.PageQuery, {"limit": "1001"}, "limit"),
    ("a required one left out", views.NodeRefusalQuery, {}, "node"),
)
def test_query_is_refused_for(cls: type[views.Input], query: dict[str, str], field: str) -> None:
    assert list(problems(cls, query, is_text=True)) == [field]


def test_query_is_read_from_text() -> None:
    query = {"offset": "5", "descending": "true", "feasible": "false"}
    read = asking.read(views.MatrixQuery, query, is_text=True)
    assert (read.offset, read.descending, read.feasible) == (5, True, False)
    defaults = {"sort": "walk", "limit": 200, "now": False}
    assert views.given(read) == {"offset": 5, "descending": True, "feasible": False, **defaults}


def test_span_without_a_zone_is_utc_and_begins_once() -> None:
    query = asking.read(views.EventQuery, {"since": "2026-01-01T00:00:00"}, is_text=True)
    assert inputs.event_filter(query, 0).since == datetime(2026, 1, 1, tzinfo=UTC)
    both = views.EventQuery(since=datetime(2026, 1, 1, tzinfo=UTC), last_seconds=5)
    with pytest.raises(ValidationError, match="either since or last_seconds"):
        inputs.event_filter(both, 0)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_time_beyond_the_calendar_is_refused(at: str) -> None:
    query = asking.read(views.EventQuery, {"until": at}, is_text=True)
    with pytest.raises(ValidationError, match="before the first year"):
        inputs.event_filter(query, 0)


def test_times_are_read_in_utc() -> None:
    """PostgreSQL knows no offset beyond 15:59."""
    query = asking.read(views.EventQuery, {"until": "2026-01-01T00:00:00-20:52"}, is_text=True)
    assert inputs.event_filter(query, 0).until == datetime(2026, 1, 1, 20, 52, tzinfo=UTC)
    assert str(inputs.event_filter(query, 0).until).endswith("+00:00")


def test_node_of_another_question_is_not_the_chosen_node() -> None:
    assert inputs.attempt_filter(views.AttemptQuery(node="n1"), 0).node == "n1"
    assert inputs.attempt_filter(views.NodeRefusalQuery(node="n1"), 0).node == ""
