"""A collection is listed, watched from there on, and listed again when the other side has forgotten the position."""

from __future__ import annotations

import pytest

from scheduler_core.following.kinds import REQUIRED, Collected, collections
from scheduler_core.following.stream import LONGEST_PAUSE, Ask, State, Stream


def _watching(position: str = "10") -> Stream:
    return Stream(position)


def test_list_goes_page_by_page_and_ends_in_a_watch() -> None:
    stream = Stream()
    assert stream.next() == Ask(False)
    assert not stream.on_page("7", "more") and not stream.is_settled
    assert stream.next() == Ask(False, token="more")
    assert stream.on_page("7", "") and stream.is_settled
    assert (stream.next(), stream.state) == (Ask(True, "7"), State.WATCHING)


def test_watch_goes_on_where_the_last_one_ended() -> None:
    stream = _watching()
    stream.on_version("11")
    stream.on_end(was_useful=True)
    assert stream.next() == Ask(True, "11")


def test_stored_position_is_resumed_without_a_list() -> None:
    assert _watching("42").next() == Ask(True, "42")


def test_forgotten_position_leads_to_a_new_list_at_once() -> None:
    stream = _watching()
    stream.on_failure(410, "too old", 0.5)
    assert (stream.next(), stream.state, stream.is_settled) == (Ask(False), State.LISTING, False)


def test_forgotten_page_begins_the_list_anew() -> None:
    stream = Stream()
    stream.on_page("7", "more")
    stream.on_failure(410, "the continue token has expired", 0.0)
    assert stream.next() == Ask(False)


def test_server_that_always_forgets_is_not_asked_without_a_pause() -> None:
    stream = _watching()
    stream.on_failure(410, "too old", 0.0)
    assert not stream.next().pause
    stream.on_failure(410, "too old", 0.0)
    assert stream.next().pause > 0


def test_pauses_double_up_to_the_longest_with_jitter() -> None:
    stream = _watching()
    pauses = []
    for _ in range(9):
        stream.on_failure(500, "broken", 0.0)
        pauses.append(stream.next().pause)
    assert pauses[:4] == [0.4, 0.8, 1.6, 3.2]
    assert pauses[-1] == LONGEST_PAUSE / 2
    stream.on_failure(500, "broken", 0.999)
    assert LONGEST_PAUSE / 2 < stream.next().pause < LONGEST_PAUSE


@pytest.mark.parametrize("good", ["page", "event"])
def test_success_ends_the_row_of_failures(good: str) -> None:
    stream = _watching("" if good == "page" else "10")
    for _ in range(5):
        stream.on_failure(0, "refused", 0.0)
    stream.next()
    if good == "page":
        stream.on_page("11", "")
    else:
        stream.on_version("11")
    assert not stream.problem
    stream.on_failure(0, "refused", 0.0)
    assert stream.next().pause == 0.4


@pytest.mark.parametrize("code", [429, 503])
def test_server_says_how_long_to_wait(code: int) -> None:
    stream = _watching()
    stream.on_failure(code, "too many requests", 0.0, retry_after=7.0)
    assert (stream.next().pause, stream.state, stream.position) == (7.0, State.WAITING, "10")


def test_watch_that_ends_at_once_is_not_repeated_at_once() -> None:
    stream = _watching()
    stream.on_end(was_useful=False)
    assert stream.next().pause > 0


def test_watch_that_is_answered_is_watching_and_pauses_go_on_doubling() -> None:
    stream = _watching()
    stream.on_failure(500, "broken", 0.0)
    stream.on_failure(500, "broken", 0.0)
    stream.on_begin()
    assert (stream.state, stream.problem) == (State.WATCHING, "")
    stream.on_end(was_useful=False)
    assert stream.next().pause > 1.0


@pytest.mark.parametrize(("code", "state"), [(403, State.FORBIDDEN), (404, State.ABSENT)])
def test_collection_that_cannot_be_had_is_settled_and_asked_for_later(code: int, state: State) -> None:
    stream = Stream()
    stream.on_failure(code, "no", 0.0)
    assert stream.is_settled and stream.state is state
    assert stream.next().pause >= 60


def test_collections_are_those_that_scheduling_reads_and_hold_no_secret() -> None:
    found = list(collections())
    kinds = {each.kind for each in found}
    assert kinds.isdisjoint({"Secret", "ConfigMap"}) and kinds >= REQUIRED
    assert found[-1].kind == "Pod"
    assert Collected("Pod").path == "/api/v1/pods"
    assert Collected("PersistentVolumeClaim", "shop").path == "/api/v1/namespaces/shop/persistentvolumeclaims"
    assert Collected("ResourceSlice").path == "/apis/resource.k8s.io/v1/resourceslices"


def test_namespaces_narrow_what_has_one() -> None:
    keys = [each.key for each in collections(["b", "a"])]
    assert "Node" in keys and "Pod" not in keys
    assert [key for key in keys if key.startswith("Pod/")] == ["Pod/a", "Pod/b"]


@pytest.mark.parametrize("code", [403, 404])
def test_list_that_was_forbidden_in_the_middle_begins_anew(code: int) -> None:
    stream = Stream()
    stream.on_page("7", "more")
    stream.on_failure(code, "no", 0.0)
    assert not stream.next().token


def test_namespace_named_twice_is_followed_once() -> None:
    found = [each.namespace for each in collections(["b", "a", "b"]) if each.kind == "Pod"]
    assert found == ["a", "b"]


def test_each_kind_that_scheduling_reads_is_followed() -> None:
    assert {each.kind for each in collections()} == {
        "Node", "Namespace", "PriorityClass", "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CSINode",
        "CSIDriver", "CSIStorageCapacity", "VolumeAttachment", "DeviceClass", "ResourceSlice", "ResourceClaim",
        "PodDisruptionBudget", "Service", "ReplicationController", "ReplicaSet", "StatefulSet", "Pod",
    }  # fmt: skip
