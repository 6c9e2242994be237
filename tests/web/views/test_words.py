"""Closed sets of words are the same in the views and in the tables."""

from typing import Annotated, Any, get_args, get_origin

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.cluster.choices import LifecycleMode, Pace
from kschedweb.traces.choices import Outcome, Queue, Result
from tests.cases import cases


@cases(
    "words, choices",
    ("roles", views.Role, Role),
    ("life-cycle modes", views.LifecycleMode, LifecycleMode),
    ("paces", views.Pace, Pace),
    ("outcomes of a node in a search for victims", views.Outcome, Outcome),
    ("results of attempts", views.Result, Result),
)
def test_view_and_table_have_the_same_words(words: Any, choices: Any) -> None:
    literal = get_args(words)[0] if get_origin(words) is Annotated else words
    assert set(get_args(literal)) == set(choices.values)


def test_queue_of_a_view_may_also_be_none() -> None:
    assert set(get_args(views.QueueName)) == {"", *Queue.values}
