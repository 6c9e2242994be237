"""What a user is told about a failed attempt, and when nothing needs to be told."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import CLEAR_NOMINATION, NominatingInfo, NominatingMode
from scheduler_core.model.changes import PermitVerdict
from scheduler_core.model.effects import PodStatusPatch
from scheduler_core.model.status import WAIT, Status
from scheduler_core.scheduler.failure import cut_note, status_patch
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, BindingPlugin, FilteringPlugin, ToldPlugins, profile, start


@cases(
    "message, want",
    ("1024 bytes stay", "x" * 1024, "x" * 1024),
    ("1025 bytes are cut", "x" * 1025, "x" * 1020 + " ..."),
    ("bytes count, not letters", "é" * 600, "é" * 510 + " ..."),
)
def test_note_is_cut_to_1024_bytes(message: str, want: str) -> None:
    assert cut_note(message) == want


def test_condition_keeps_the_whole_message() -> None:
    long = "y" * 2000
    plugins = ToldPlugins().add("F", FilteringPlugin, filter=lambda pod, node: Status.unschedulable(long))
    cluster = start(profile("F"), plugins=plugins)
    effects = cluster.step(make_node("n").build(), make_pod().build())
    want = f"0/1 nodes are available: 1 {long}."
    assert [patch.message for patch in effects.status_patches] == [want]
    assert [event.note for event in effects.events] == [cut_note(want)]


_TOLD = make_pod().condition("PodScheduled", "False", reason="Unschedulable", message="full")
_KEEP = NominatingInfo()


def _patch(nominated: str | None) -> PodStatusPatch:
    return PodStatusPatch("pod-default/pod", "default", "pod", "False", "Unschedulable", "full", nominated)


@cases(
    "pod, nominating, want",
    ("no condition yet", make_pod().build(), _KEEP, _patch(None)),
    ("told already", _TOLD.build(), _KEEP, None),
    ("told already, nothing to clear", _TOLD.build(), CLEAR_NOMINATION, None),
    ("another message", make_pod().condition("PodScheduled", "False", reason="Unschedulable", message="taken").build(),
     _KEEP, _patch(None)),
    ("another status", make_pod().condition("PodScheduled", "True", reason="Unschedulable", message="full").build(),
     _KEEP, _patch(None)),
    ("another reason", make_pod().condition("PodScheduled", "False", reason="SchedulerError", message="full").build(),
     _KEEP, _patch(None)),
    ("a nomination to clear",
     make_pod().nominated("n").condition("PodScheduled", "False", reason="Unschedulable", message="full").build(),
     CLEAR_NOMINATION, _patch("")),
    ("a nomination to write", _TOLD.build(), NominatingInfo(NominatingMode.OVERRIDE, "n"), _patch("n")),
)  # fmt: skip
def test_status_patch(pod: Pod, nominating: NominatingInfo, want: PodStatusPatch | None) -> None:
    assert status_patch(pod, "Unschedulable", "full", nominating) == want


def test_failed_pod_comes_back_as_it_is_stored_now() -> None:
    plugins = ToldPlugins().add("H", BindingPlugin, permit=lambda pod, node: (WAIT, 9 * SECOND))
    cluster = start(profile("H"), plugins=plugins)
    cluster.step(make_node("n").build(), make_pod().build())
    changed = make_pod().label(a="b").build()
    cluster.step(changed)
    cluster.step(PermitVerdict("pod-default/pod", "H", allowed=False, message="no"))
    entry = cluster.scheduler.engine.queue.get("default/pod")
    assert entry is not None
    assert entry.pod is changed
    assert (entry.attempts, entry.unschedulable_plugins) == (1, {"H"})
