"""Watchers inside the process: who does not read is cut off, and an event is written once for all who watch alike."""

from types import SimpleNamespace
from typing import Any

import pytest

from kschedweb.kubeapi import watching
from kschedweb.kubeapi.media import Form
from kschedweb.kubeapi.watching import Batch, TooSlowError, Watcher, _Writer
from scheduler_core.apiserver.routes import route
from scheduler_core.apiserver.watch import WatchEvent
from tests.cases import cases


def batch(to: int, count: int, size: int = 0) -> Batch:
    return Batch(to, {}, count, size, {})


@cases(
    "count, size",
    ("in entries", watching.QUEUE_ENTRIES + 1, 0),
    ("in bytes", 1, watching.QUEUE_BYTES + 1),
)
async def test_watcher_that_does_not_read_is_cut_off(count: int, size: int) -> None:
    watcher = Watcher(0)
    assert watcher.offer(batch(1, count, size))
    assert not watcher.offer(batch(2, 1))
    with pytest.raises(TooSlowError):
        await watcher.next(1.0)


async def test_watcher_that_reads_is_never_cut_off() -> None:
    watcher = Watcher(0)
    for to in range(1, 6):
        assert watcher.offer(batch(to, watching.QUEUE_ENTRIES, watching.QUEUE_BYTES))
        given = await watcher.next(1.0)
        assert given is not None and given.to == to
    assert await watcher.next(0.01) is None


def test_event_is_written_once_for_all_who_watch_in_the_same_form(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def noted(stored: Any, manifest: Any, form: Form, at: Any, custom: Any) -> Any:
        written.append(form.shape)
        return manifest

    monkeypatch.setattr(watching, "object_in", noted)
    found = route("/api/v1/pods")
    forms = (Form(), Form(), Form(shape="PartialObjectMetadata"))
    watch = SimpleNamespace(shown=None)
    begun = [SimpleNamespace(route=found, form=form, include="Metadata", watch=watch) for form in forms]
    event = WatchEvent("ADDED", {"kind": "Pod", "metadata": {"name": "p", "resourceVersion": "7"}})
    encoded: dict[tuple[Any, ...], bytes] = {}
    lines = [_Writer(one).write([event], encoded, 0) for one in begun]  # type: ignore[arg-type]
    assert written == ["", "PartialObjectMetadata"] and lines[0] is not None and lines[0] == lines[1]
