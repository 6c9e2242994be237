"""Sessions that are over are cleared away; those of people who are logged in stay."""

import datetime

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from kschedweb.accounts import tasks
from kschedweb.accounts.sessions import SessionStore


def session(*, ends_in: datetime.timedelta) -> str:
    """The key of a stored session."""
    store = SessionStore()
    store["who"] = "somebody"
    store.set_expiry(timezone.now() + ends_in)
    store.save()
    assert store.session_key is not None
    return store.session_key


@pytest.mark.django_db
def test_only_sessions_that_are_over_are_cleared_away() -> None:
    session(ends_in=datetime.timedelta(days=-30))
    session(ends_in=datetime.timedelta(minutes=-1))
    good = session(ends_in=datetime.timedelta(minutes=1))
    tasks.sessions_clear()
    assert set(Session.objects.values_list("session_key", flat=True)) == {good}
