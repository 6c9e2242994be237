"""Plugins that are not built yet, answering hints as the recordings say: the queue's own rules are what is tested.

A stand-in takes the answers of the evaluation under way; one of ours answers for itself. Evaluations are told apart by
step, pod and event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.conformance.queue import QueueReplay
from scheduler_core.conformance.queue_recorder import RecordingQueue, RecordingRequeuing
from scheduler_core.framework.interface import ClusterEventWithHint, Plugin, QueueingHint
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.worth import Verdict

A = ActionType
R = EventResource

# Order as in the default configuration; what each registers as upstream 1.34 does.
REGISTRATIONS: dict[str, list[tuple[R, A]]] = {
    "VolumeRestrictions": [(R.POD, A.DELETE), (R.NODE, A.ADD), (R.PERSISTENT_VOLUME_CLAIM, A.ADD)],
    "NodeVolumeLimits": [
        (R.CSI_NODE, A.ADD),
        (R.CSI_NODE, A.UPDATE),
        (R.POD, A.DELETE),
        (R.PERSISTENT_VOLUME_CLAIM, A.ADD),
        (R.VOLUME_ATTACHMENT, A.DELETE),
    ],
    "VolumeBinding": [
        (R.STORAGE_CLASS, A.ADD | A.UPDATE),
        (R.PERSISTENT_VOLUME_CLAIM, A.ADD | A.UPDATE),
        (R.PERSISTENT_VOLUME, A.ADD | A.UPDATE),
        (R.NODE, A.ADD | A.UPDATE_NODE_LABEL),
        (R.CSI_NODE, A.ADD | A.UPDATE),
        (R.CSI_DRIVER, A.UPDATE),
        (R.CSI_STORAGE_CAPACITY, A.ADD | A.UPDATE),
    ],
    "VolumeZone": [
        (R.STORAGE_CLASS, A.ADD),
        (R.NODE, A.ADD | A.UPDATE_NODE_LABEL),
        (R.PERSISTENT_VOLUME_CLAIM, A.ADD | A.UPDATE),
        (R.PERSISTENT_VOLUME, A.ADD | A.UPDATE),
    ],
    "PodTopologySpread": [
        (R.POD, A.ADD | A.UPDATE_POD_LABEL | A.UPDATE_POD_TOLERATION | A.DELETE),
        (R.NODE, A.ADD | A.DELETE | A.UPDATE_NODE_LABEL | A.UPDATE_NODE_TAINT),
    ],
    "InterPodAffinity": [(R.POD, A.ADD | A.UPDATE_POD_LABEL | A.DELETE), (R.NODE, A.ADD | A.UPDATE_NODE_LABEL)],
}


class StandIn:
    """Registers as the plugin does; hints are answered from the record."""

    def __init__(self, name: str, answer: Callable[[str], QueueingHint]) -> None:
        self.name = name
        self._answer = partial(answer, name)

    def filter(self, state: Any, pod: Pod, node_info: NodeInfo) -> Status:
        raise AssertionError("no cycle runs here")

    def events_to_register(self) -> list[ClusterEventWithHint]:
        hint = lambda pod, old, new: self._answer()  # noqa: E731
        return [
            ClusterEventWithHint(ClusterEvent(resource, action), hint) for resource, action in REGISTRATIONS[self.name]
        ]


class AnsweringRequeuing(RecordingRequeuing):
    """Knows which evaluation is under way, and the recorded answers to it."""

    def expect(self, step: dict[str, Any]) -> None:
        self._left = [*step.get("worth", ())]
        self._errors = [log.partition(": ")[2] for log in step.get("logs", ()) if log.startswith("QueueingHintFn")]

    def worth(
        self, info: QueuedPodInfo, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None
    ) -> Verdict:
        asked = (info.key, event.label)
        found = next((each for each in self._left if (each["pod"], each["event"]) == asked), None)
        if found is not None:
            self._left.remove(found)
        self._answers: dict[str, list[str]] = {}
        for plugin, answer in found["hints"] if found is not None else ():
            self._answers.setdefault(plugin, []).append(answer)
        self._turn = dict.fromkeys(self._answers, 0)
        return super().worth(info, event, old, new)

    def _hints(self, *asked: Any) -> list[list[str]]:
        self._turn = dict.fromkeys(self._answers, 0)
        return super()._hints(*asked)

    def answer(self, plugin: str) -> QueueingHint:
        answers = self._answers.get(plugin)
        if not answers:
            return QueueingHint.SKIP
        answer = answers[self._turn[plugin] % len(answers)]
        self._turn[plugin] += 1
        if answer == "Error":
            raise ValueError(self._errors[0] if self._errors else "")
        return QueueingHint.QUEUE if answer == "Queue" else QueueingHint.SKIP


class AnsweredReplay(QueueReplay):
    """A replay in which plugins that are not built yet are stood in for."""

    def __init__(self, line: dict[str, Any]) -> None:
        self._expected = iter(line["result"]["steps"])
        self._stand_ins: dict[str, StandIn] = {}
        super().__init__(line["scenario"])
        queue = self.queue
        assert isinstance(queue, RecordingQueue)
        self.answering = AnsweringRequeuing.__new__(AnsweringRequeuing)
        self.answering.__dict__.update(queue.requeuing.__dict__)
        queue.requeuing = self.answering

    def plugins_of(self, framework: Framework) -> list[Plugin]:
        built = super().plugins_of(framework)
        names = {plugin.name for plugin in built}
        for name in REGISTRATIONS:
            if name not in names:
                if name not in self._stand_ins:
                    made = StandIn(name, lambda plugin: self.answering.answer(plugin))
                    self._stand_ins[name] = made
                built.append(self._stand_ins[name])
        return built

    def step(self, op: dict[str, Any]) -> dict[str, Any]:
        self.answering.expect(next(self._expected))
        return super().step(op)
