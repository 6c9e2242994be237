"""From the chosen node to the binding: Permit, PreBind, verdicts, and how it is undone."""

from __future__ import annotations

from typing import Any

from scheduler_core.framework.answers import PreBindWork
from scheduler_core.model.changes import BindingVerdict, PermitVerdict, PreBindVerdict
from scheduler_core.model.effects import CacheMove, Effects, QueueMove
from scheduler_core.model.status import SUCCESS, WAIT, Status
from tests.builders import make, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import (
    SECOND,
    START,
    BindingPlugin,
    Cluster,
    FilteringPlugin,
    ToldPlugins,
    profile,
    start,
)

MINUTE = 60 * SECOND
UID = "pod-default/pod"


def _waits(**seconds: int) -> ToldPlugins:
    """Permit plugins that wait for so many seconds; 0 is content."""
    plugins = ToldPlugins()
    for name, wait in seconds.items():
        answer = (WAIT, wait * SECOND) if wait else (SUCCESS, 0)
        plugins.add(name, BindingPlugin, permit=lambda pod, node, answer=answer: answer)
    return plugins


def _cluster(plugins: ToldPlugins, *names: str) -> Cluster:
    cluster = start(profile(*(names or plugins.factories), "NodeResourcesFit"), plugins=plugins)
    cluster.put(make_node("n0").capacity(cpu="1").build())
    return cluster


def _cache_moves(effects: Effects) -> list[str]:
    return [move.kind for move in effects.moves if isinstance(move, CacheMove)]


def _queued_to(effects: Effects, key: str = "default/pod") -> list[str]:
    return [move.to for move in effects.moves if isinstance(move, QueueMove) and move.pod_key == key]


def _is_free(cluster: Cluster) -> bool:
    return not cluster.scheduler.engine.cache.pod_states


# The ordinary way


def test_binding_is_asked_for_and_confirmed() -> None:
    plugins = ToldPlugins().add("P", BindingPlugin)
    cluster = _cluster(plugins)
    effects = cluster.step(make_pod().build())
    (binding,) = effects.bindings
    assert (binding.pod_uid, binding.node_name, binding.attempt) == (UID, "n0", 1)
    assert _cache_moves(effects) == ["assumed"]
    assert "post_bind P" not in plugins.log
    done = cluster.confirm(effects)
    (event,) = done.events
    assert (event.type, event.reason, event.note) == ("Normal", "Scheduled", "Successfully assigned default/pod to n0")
    assert plugins.log[-1] == "post_bind P"
    assert not cluster.scheduler.engine.cache.assumed_pods
    assert cluster.scheduler.next_due(cluster.now) is None


def test_second_verdict_changes_nothing() -> None:
    cluster = _cluster(ToldPlugins().add("P", BindingPlugin))
    cluster.confirm(cluster.step(make_pod().build()))
    assert cluster.step(BindingVerdict(UID, "n0", bound=True)).is_empty
    assert cluster.step(BindingVerdict(UID, "n0", bound=False)).is_empty


# Permit


def test_pod_waits_until_every_permit_plugin_allows() -> None:
    cluster = _cluster(_waits(A=10, B=5))
    effects = cluster.step(make_pod().build())
    assert effects.bindings == []
    assert _cache_moves(effects) == ["assumed", "waiting"]
    assert UID in cluster.scheduler.engine.queue.active.in_flight
    assert cluster.step(PermitVerdict(UID, "A", allowed=True), after=SECOND).bindings == []
    assert len(cluster.step(PermitVerdict(UID, "B", allowed=True), after=SECOND).bindings) == 1


def test_verdict_for_all_plugins_lets_the_pod_go() -> None:
    cluster = _cluster(_waits(A=10, B=5))
    cluster.step(make_pod().build())
    assert len(cluster.step(PermitVerdict(UID, "", allowed=True)).bindings) == 1


def test_shortest_permit_timeout_decides() -> None:
    plugins = _waits(A=10, B=5)
    cluster = _cluster(plugins)
    cluster.step(make_pod().req(cpu="1").build())
    assert cluster.scheduler.next_due(START) == START + 5 * SECOND
    cluster.step(after=5 * SECOND - 1)
    assert not _is_free(cluster)
    effects = cluster.step(after=1)
    (patch,) = effects.status_patches
    assert patch.message == "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin B."
    assert patch.reason == "Unschedulable"
    assert _is_free(cluster)
    assert plugins.log[-2:] == ["unreserve B", "unreserve A"]
    (move,) = [move for move in effects.moves if isinstance(move, QueueMove)]
    assert (move.to, move.plugins) == ("unschedulable", ("B",))


def test_permit_timeout_is_cut_to_fifteen_minutes() -> None:
    cluster = _cluster(_waits(A=20 * 60))
    cluster.step(make_pod().build())
    assert cluster.scheduler.next_due(START) == START + 15 * MINUTE


def test_permit_rejection_wins_over_waiting() -> None:
    plugins = _waits(A=10)
    plugins.add("B", BindingPlugin, permit=lambda pod, node: (Status.unschedulable("no"), 0))
    cluster = _cluster(plugins, "A", "B")
    attempt = cluster.attempt(make_pod().build())
    assert (attempt.result, attempt.message) == ("unschedulable", "0/1 nodes are available: 1 no.")
    assert attempt.unschedulable_plugins == ("B",)
    assert _is_free(cluster) and not len(cluster.scheduler.engine.waiting_pods)


def test_permit_error_blames_nobody() -> None:
    plugins = ToldPlugins().add("A", BindingPlugin, permit=lambda pod, node: (Status.failed("odd"), 0))
    cluster = _cluster(plugins)
    attempt = cluster.attempt(make_pod().build())
    assert (attempt.result, attempt.message) == ("error", 'running Permit plugin "A": odd')
    assert attempt.unschedulable_plugins == ()


def test_rejected_waiting_pod_gives_its_room_to_another() -> None:
    cluster = _cluster(_waits(A=10))
    cluster.step(make_pod().req(cpu="1").build())
    cluster.step(make_pod("other").req(cpu="1").build())
    effects = cluster.step(PermitVerdict(UID, "A", allowed=False, message="not you"), after=2 * SECOND)
    assert _queued_to(effects) == ["unschedulable"]  # not moved by the room it freed itself
    assert [each.pod_key for each in effects.attempts] == ["default/other"]
    assert effects.attempts[0].node_name == "n0"


def test_pod_deleted_while_waiting_is_rejected_and_frees_its_room() -> None:
    plugins = _waits(A=10)
    cluster = _cluster(plugins)
    pod = make_pod().req(cpu="1").build()
    cluster.step(pod)
    cluster.step(make_pod("other").req(cpu="1").build())
    effects = cluster.delete(pod, after=2 * SECOND)
    assert "unreserve A" in plugins.log
    assert [each.pod_key for each in effects.attempts] == ["default/other"]
    (event,) = [each for each in effects.events if each.regarding_key == "default/pod"]
    assert event.note == "0/1 nodes are available: 1 removed."
    assert effects.status_patches == []  # nobody is left to be told
    assert UID not in cluster.scheduler.engine.queue.active.in_flight


def test_plugin_may_allow_a_waiting_pod_in_the_cycle_of_another() -> None:
    """Like a gang: the second member lets the first go."""
    handles: list[Any] = []
    plugins = ToldPlugins()

    def permit(pod: Any, node: str) -> Any:
        if pod.name == "first":
            return WAIT, 10 * SECOND
        for waiting in handles[0].waiting_pods:
            waiting.allow("Gang")
        return SUCCESS, 0

    def factory(args: Any, handle: Any) -> Any:
        handles.append(handle)
        return BindingPlugin("Gang", plugins.log, {"permit": permit})

    plugins.factories["Gang"] = factory
    cluster = _cluster(plugins)
    assert cluster.step(make_pod("first").build()).bindings == []
    bindings = cluster.step(make_pod("second").build()).bindings
    assert [each.name for each in bindings] == ["second", "first"]


# PreBind


def test_pre_bind_work_is_awaited_before_the_binding() -> None:
    claim = make("PersistentVolumeClaim", "c")
    plugins = ToldPlugins().add("A", BindingPlugin, pre_bind=lambda pod, node: (SUCCESS, PreBindWork([claim], True)))
    plugins.add("B", BindingPlugin)
    cluster = _cluster(plugins, "A", "B")
    effects = cluster.step(make_pod().build())
    assert (effects.writes, effects.bindings) == ([claim], [])
    assert "pre_bind B" not in plugins.log
    in_flight = cluster.scheduler.engine.queue.active.in_flight
    assert UID not in in_flight  # events are kept for it until Permit only
    assert cluster.step(PreBindVerdict(UID, "B", done=True)).is_empty  # nobody waits for B
    assert len(cluster.step(PreBindVerdict(UID, "A", done=True)).bindings) == 1
    assert plugins.log[-2:] == ["pre_bind B", "bind A"]


def test_failed_pre_bind_work_undoes_the_cycle() -> None:
    plugins = ToldPlugins().add("A", BindingPlugin, pre_bind=lambda pod, node: (SUCCESS, PreBindWork([], True)))
    cluster = _cluster(plugins)
    cluster.step(make_pod().build())
    effects = cluster.step(PreBindVerdict(UID, "A", done=False, message="disk lost"))
    (patch,) = effects.status_patches
    assert (patch.reason, patch.message) == ("SchedulerError", 'running PreBind plugin "A": disk lost')
    assert _is_free(cluster)
    assert _queued_to(effects) == ["errorBackoff"]


def test_pre_bind_rejection_is_unschedulable_but_waits_like_an_error() -> None:
    plugins = ToldPlugins().add("A", BindingPlugin, pre_bind=lambda pod, node: (Status.unschedulable("no"), None))
    cluster = _cluster(plugins)
    attempt = cluster.attempt(make_pod().build())
    (patch,) = cluster.effects[-1].status_patches
    assert (attempt.result, patch.reason, patch.message) == ("unschedulable", "Unschedulable", "no")
    assert _queued_to(cluster.effects[-1])[-1] == "errorBackoff"


# Verdicts on the binding


def test_refused_binding_is_undone_and_tried_again_after_an_errors_backoff() -> None:
    plugins = ToldPlugins().add("A", BindingPlugin)
    cluster = _cluster(plugins, "A")
    cluster.step(make_pod().req(cpu="1").build())
    effects = cluster.step(BindingVerdict(UID, "n0", bound=False, message="the pod changed"))
    assert plugins.log[-1] == "unreserve A"
    assert _is_free(cluster)
    assert _cache_moves(effects) == ["finished", "forgotten"]
    (patch,) = effects.status_patches
    assert patch.message == 'running Bind plugin "A": the pod changed'
    assert (patch.reason, patch.nominated_node_name) == ("SchedulerError", None)
    assert _queued_to(effects) == ["errorBackoff"]
    due = cluster.scheduler.next_due(cluster.now)
    assert due is not None and START + SECOND < due <= START + 2 * SECOND
    again = cluster.step(after=due - cluster.now)
    assert [each.attempt for each in again.attempts] == [2]
    assert [each.attempt for each in again.bindings] == [2]


@cases(
    "rejected, want",
    ("an error's room is offered before the pod is put back", False, "Unschedulable"),
    ("a rejection's room is offered to the others", True, "Unschedulable"),
)
def test_refused_binding_offers_the_room_to_waiting_pods(rejected: bool, want: str) -> None:
    cluster = _cluster(ToldPlugins().add("A", FilteringPlugin))
    cluster.step(make_pod().req(cpu="1").build())
    assert cluster.attempt(make_pod("other").req(cpu="1").build()).requeued_to == want
    verdict = BindingVerdict(UID, "n0", bound=False, message="no", rejected=rejected)
    effects = cluster.step(verdict, after=2 * SECOND)
    assert [each.pod_key for each in effects.attempts] == ["default/other"]


def test_verdict_for_another_node_is_ignored() -> None:
    cluster = _cluster(ToldPlugins().add("A", BindingPlugin))
    cluster.step(make_pod().build())
    assert cluster.step(BindingVerdict(UID, "n9", bound=False)).is_empty


def test_pods_to_activate_come_back_when_the_cycle_has_succeeded() -> None:
    plugins = ToldPlugins()

    class Waker(BindingPlugin):
        def reserve(self, state: Any, pod: Any, node_name: str) -> Status:
            if pod.name == "waker":
                state.pods_to_activate["default/sleeper"] = None
            return SUCCESS

    plugins.add("W", Waker).add(
        "F",
        FilteringPlugin,
        filter=lambda pod, node: Status.unschedulable("tired") if pod.name == "sleeper" else SUCCESS,
    )
    cluster = _cluster(plugins, "W", "F")
    cluster.step(make_pod("sleeper").build())
    effects = cluster.step(make_pod("waker").build())
    assert [each.pod_key for each in effects.attempts] == ["default/waker", "default/sleeper"]
    moves = [move.event for move in effects.moves if isinstance(move, QueueMove) and move.pod_key == "default/sleeper"]
    assert moves[0] == "ForceActivate"


def test_binding_asked_for_by_an_earlier_engine_is_taken_over() -> None:
    cluster = start(profile(default=True))
    cluster.scheduler.restore_bindings([(UID, "n0")])
    effects = cluster.step(make_node("n0").capacity(cpu="1").build(), make_pod().req(cpu="1").build())
    assert effects.attempts == [] and effects.bindings == []
    assert _cache_moves(effects) == ["assumed"]
    assert cluster.attempt(make_pod("other").req(cpu="1").build()).result == "unschedulable"
    effects = cluster.step(BindingVerdict(UID, "n0", bound=False, message="gone"), after=2 * SECOND)
    assert _queued_to(effects) == ["errorBackoff"]
    assert [each.pod_key for each in effects.attempts] == ["default/other"]


def test_binding_taken_over_is_of_the_attempt_it_was_asked_for_at() -> None:
    cluster = start(profile(default=True))
    cluster.scheduler.restore_bindings([(UID, "n0")])
    cluster.scheduler.restore_attempts({UID: 3})
    cluster.step(make_node("n0").capacity(cpu="1").build(), make_pod().req(cpu="1").build())
    cluster.step(BindingVerdict(UID, "n0", bound=False, message="gone"))
    assert cluster.attempt(after=3 * SECOND).attempt == 4
