"""Carries out a preemption while scheduling continues.

    begin ── nominations of lower pods cleared, all victims but the last asked for ──▶ GATED
    GATED ── verdict on all of them ──▶ the last victim asked for, the preemptor may be tried again
          └─ a failure: nothing more is asked for, the preemptor is activated
A victim that waits for Permit is rejected, which needs no verdict. The preemptor is activated too when nobody was
left to delete: no deletion would wake it.
Source: kubernetes v1.34.1, pkg/scheduler/framework/preemption/executor.go (prepareCandidateAsync).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from scheduler_core.api.pod import Pod
from scheduler_core.framework.handle import Handle
from scheduler_core.model.changes import EvictionVerdict
from scheduler_core.model.effects import EventRecord, EvictionRequest, PodStatusPatch
from scheduler_core.preemption.criteria import Candidate

PREEMPTED = "preempted"  # what a waiting victim is rejected with


def eviction_message(preemptor: Pod) -> str:
    return f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod"


@dataclass(slots=True)
class UnderWay:
    """One preemption whose evictions are not all answered. Victims are keys by uid."""

    preemptor_uid: str
    preemptor_key: str
    node_name: str
    message: str
    awaited: dict[str, str] = field(default_factory=dict)
    last: tuple[str, str] | None = None  # (uid, key) of the victim that is asked for when `awaited` is empty
    failed: bool = False
    anybody_went: bool = False


class Executor:
    """The preemptions of one profile. `preempting`: uids of preemptors that may not be tried yet, in order."""

    def __init__(self, plugin: str, handle: Handle) -> None:
        self.preempting: dict[str, None] = {}
        self._plugin = plugin
        self._handle = handle
        self._under_way: dict[str, UnderWay] = {}  # by the preemptor's uid

    def begin(self, candidate: Candidate, preemptor: Pod) -> tuple[str, ...]:
        """Ask for the victims; the keys of lower pods that lose their nomination to the node.

        When all victims are being deleted already nothing happens, not even to nominations (as upstream); nor does
        anything while another scheduler is observed.
        """
        if self._handle.observes:
            return ()
        victims = [pod for pod in candidate.victims if not pod.is_terminating]
        if not victims:
            return ()
        cleared = self._clear_lower_nominations(candidate.node_name, preemptor)
        way = UnderWay(preemptor.uid, preemptor.key, candidate.node_name, eviction_message(preemptor))
        *others, last = ((pod.uid, pod.key) for pod in victims)
        for uid, key in others:
            self._preempt(way, uid, key)
        if way.awaited:
            way.last = last
            self.preempting[way.preemptor_uid] = None
        else:
            self._preempt(way, *last)
        if way.awaited:
            self._under_way[way.preemptor_uid] = way
        return cleared

    def on_verdict(self, verdict: EvictionVerdict) -> None:
        """Some evictions were carried out, or failed."""
        way = self._under_way.get(verdict.preemptor_uid)
        if way is None:
            return
        for uid in verdict.pod_uids or tuple(way.awaited):
            key = way.awaited.pop(uid, None)
            if key is None:
                continue  # asked for by a preemption before this one
            if not verdict.done:
                way.failed = True
            elif uid not in verdict.gone_uids:
                self._preempted(way, uid, key)
        if way.awaited:
            return
        self.preempting.pop(way.preemptor_uid, None)
        last, way.last = way.last, None
        if last is not None and not way.failed:
            self._preempt(way, *last)
            if way.awaited:
                return
        del self._under_way[way.preemptor_uid]
        if way.failed or not way.anybody_went:
            self._handle.activate([way.preemptor_key])

    def dump(self) -> dict[str, Any]:
        return {"preempting": list(self.preempting), "under_way": [asdict(way) for way in self._under_way.values()]}

    def load(self, state: dict[str, Any]) -> None:
        self.preempting = dict.fromkeys(state["preempting"])
        for dumped in state["under_way"]:
            last = dumped["last"]
            way = UnderWay(**dumped | {"last": tuple(last) if last is not None else None})
            self._under_way[way.preemptor_uid] = way

    def _preempt(self, way: UnderWay, uid: str, key: str) -> None:
        waiting = self._handle.waiting_pods.get(uid)
        if waiting is not None:
            waiting.reject(self._plugin, PREEMPTED)
            self._preempted(way, uid, key)
            return
        namespace, _, name = key.partition("/")
        self._handle.effects.evictions.append(
            EvictionRequest(uid, namespace, name, way.preemptor_uid, way.node_name, way.message)
        )
        way.awaited[uid] = key

    def _preempted(self, way: UnderWay, uid: str, key: str) -> None:
        way.anybody_went = True
        self._handle.effects.log.append(
            EventRecord(
                type="Normal",
                reason="Preempted",
                action="Preempting",
                note=f"Preempted by pod {way.preemptor_uid} on node {way.node_name}",
                regarding_kind=Pod.kind,
                regarding_key=key,
                regarding_uid=uid,
                reporter=self._handle.runner.name,
                at=self._handle.now,
            )
        )

    def _clear_lower_nominations(self, node_name: str, preemptor: Pod) -> tuple[str, ...]:
        nominated = [info.pod for info in self._handle.nominated_pods.nominated_pods_for_node(node_name)]
        # Of the preemptor itself, nominated here before, the nominator knows no priority while it is being tried.
        lower = [pod for pod in nominated if pod.priority < preemptor.priority and pod.uid != preemptor.uid]
        for pod in lower:
            self._handle.effects.status_patches.append(
                PodStatusPatch(pod.uid, pod.namespace, pod.name, "", "", "", nominated_node_name="")
            )
        return tuple(pod.key for pod in lower)
