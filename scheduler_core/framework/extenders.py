"""Extenders: outsiders asked inside a cycle about nodes, scores, victims, and to bind.

filter       after the plugins; those that fail may be ignorable, else the cycle fails
prioritize   scores of 0..10, times weight, times 10, on top of the plugins'; a failure is only logged
bind         the first one that binds and cares for the pod does it in place of the Bind plugins
preempt      each may take nodes and victims off the list, or choose others

All are asked one after the other, ignorable ones last. How a question travels is the transport's business; each
question's digest and its answer are left with the attempt.
Source: kubernetes v1.34.1, pkg/scheduler/extender.go, schedule_one.go (findNodesThatPassExtenders, prioritizeNodes,
extendersBinding), framework/preemption/preemption.go (callExtenders).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.config import types
from scheduler_core.errors import ExtenderError
from scheduler_core.framework import extender_messages as messages
from scheduler_core.framework.extender_messages import Victims
from scheduler_core.model.effects import ExtenderExchange
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.ports import ExtenderTransport, LogSink

SCORE_FACTOR = 10  # extenders score 0..10, plugins 0..100
DIGEST_SIZE = 16

Connect = Callable[[types.Extender], ExtenderTransport]
"""The transport of a configured extender; ConfigError when there can be none."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """Nodes an extender left, in its order, and what it said about others, by name."""

    nodes: list[NodeInfo]
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]


class Extender:
    """One extender. What goes wrong, on the way or by its own word, is an `ExtenderError`."""

    def __init__(self, config: types.Extender, transport: ExtenderTransport) -> None:
        self.config = config
        self.name = config.url_prefix
        self._transport = transport
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._texts = None if config.node_cache_capable else messages.NodeTexts()

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod asks for a resource the extender manages; one without any cares for all pods."""
        if not self._managed:
            return True
        return any(
            not self._managed.isdisjoint(container.resources.requests or ())
            or not self._managed.isdisjoint(container.resources.limits or ())
            for container in (*pod.spec.containers, *(pod.spec.init_containers or ()))
        )

    def filter(self, pod: Pod, nodes: Sequence[NodeInfo], exchanges: list[ExtenderExchange]) -> Filtered:
        """Which of the nodes are left. Nodes sent back whole come without their pods, as upstream."""
        payload = messages.extender_args(pod, nodes, self._texts)
        result = messages.read_filter_result(self._ask("filter", self.config.filter_verb, payload, exchanges))
        if result.error:
            raise ExtenderError(result.error)
        known = {info.name: info for info in nodes}
        left: list[NodeInfo] = []
        if self._texts is None and result.node_names is not None:
            left = [self._known(known, name) for name in result.node_names]
        elif result.nodes is not None:
            for node in messages.read_nodes(result.nodes):
                # Upstream takes any node here, and would bind to one that does not exist.
                self._known(known, node.name)
                info = NodeInfo(next_generation=lambda: 0)
                info.set_node(node)
                left.append(info)
        return Filtered(left, result.failed_nodes, result.failed_and_unresolvable)

    def prioritize(
        self, pod: Pod, nodes: Sequence[NodeInfo], exchanges: list[ExtenderExchange]
    ) -> list[messages.HostPriority]:
        payload = messages.extender_args(pod, nodes, self._texts)
        return messages.read_priorities(self._ask("prioritize", self.config.prioritize_verb, payload, exchanges))

    def bind(self, pod: Pod, node_name: str, exchanges: list[ExtenderExchange]) -> None:
        payload = messages.binding_args(pod, node_name)
        error = messages.read_binding_error(self._ask("bind", self.config.bind_verb, payload, exchanges))
        if error:
            raise ExtenderError(error)

    def preempt(
        self,
        pod: Pod,
        victims: Mapping[str, Victims],
        node_of: Callable[[str], NodeInfo | None],
        exchanges: list[ExtenderExchange],
    ) -> dict[str, Victims]:
        """The victims it wants, by node."""
        payload = messages.preemption_args(pod, victims, uids_only=self.config.node_cache_capable)
        answer = messages.read_victims(self._ask("preempt", self.config.preempt_verb, payload, exchanges))
        found: dict[str, Victims] = {}
        for name, meta in answer.items():
            info = node_of(name)
            if info is None:
                raise ExtenderError(f'nodeinfo not found for node name "{name}"')
            pods = tuple(self._pod_on(info, uid) for uid in meta.uids)
            found[name] = Victims(pods, meta.num_pdb_violations)
        return found

    def _pod_on(self, info: NodeInfo, uid: str) -> Pod:
        for pod_info in info.pods:
            if pod_info.pod.uid == uid:
                return pod_info.pod
        raise ExtenderError(
            f"extender: {self.name} claims to preempt pod (UID: {uid}) on node: {info.name},"
            " but the pod is not found on that node"
        )

    def _known(self, known: Mapping[str, NodeInfo], name: str) -> NodeInfo:
        info = known.get(name)
        if info is None:
            raise ExtenderError(
                f'extender "{self.name}" claims a filtered node "{name}" which is not found in the input node list'
            )
        return info

    def _ask(self, point: str, verb: str, payload: bytes, exchanges: list[ExtenderExchange]) -> bytes:
        digest = blake2b(payload, digest_size=DIGEST_SIZE).digest()
        try:
            answer = self._transport.call(verb, payload)
        except ExtenderError as error:
            exchanges.append(ExtenderExchange(self.name, point, digest, None, str(error)))
            raise
        exchanges.append(ExtenderExchange(self.name, point, digest, answer))
        return answer


class Extenders:
    """All extenders of a scheduler, shared by its profiles."""

    def __init__(self, extenders: Sequence[Extender], log: LogSink) -> None:
        self._all = tuple(sorted(extenders, key=lambda extender: extender.config.ignorable))
        self._log = log
        self.any_filters = any(extender.config.filter_verb for extender in self._all)
        self.any_prioritizes = any(extender.config.prioritize_verb for extender in self._all)

    def __iter__(self) -> Iterator[Extender]:
        return iter(self._all)

    def __bool__(self) -> bool:
        return bool(self._all)

    def filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], statuses: NodeToStatus, exchanges: list[ExtenderExchange]
    ) -> list[NodeInfo] | Status:
        """The nodes all of them leave, what they said going into `statuses`; or the error that ends the cycle."""
        left = list(nodes)
        for extender in self._all:
            if not left:
                break
            if not extender.config.filter_verb or not extender.is_interested(pod):
                continue
            try:
                result = extender.filter(pod, left, exchanges)
            except ExtenderError as error:
                if not extender.config.ignorable:
                    return Status.failed(str(error))
                message = "Skipping extender as it returned error and has ignorable flag set"
                self._log(message, {"extender": extender.name, "err": str(error)})
                continue
            for name, text in result.unresolvable.items():
                statuses.set(name, Status.unresolvable(text))
            for name, text in result.failed.items():
                if name not in result.unresolvable:
                    statuses.set(name, Status.unschedulable(text))
            left = result.nodes
        return left

    def prioritize(
        self, pod: Pod, nodes: Sequence[NodeInfo], exchanges: list[ExtenderExchange]
    ) -> npt.NDArray[np.int64]:
        """What they add to the total of each node, (n_nodes,) int64; not held to 0..100."""
        added: dict[str, int] = {}
        for extender in self._all:
            if not extender.config.prioritize_verb or not extender.is_interested(pod):
                continue
            try:
                scores = extender.prioritize(pod, nodes, exchanges)
            except ExtenderError as error:
                message = "Failed to run extender's priority function. No score given by this extender."
                self._log(message, {"error": str(error), "pod": pod.key, "extender": extender.name})
                continue
            factor = extender.config.weight * SCORE_FACTOR
            for each in scores:
                added[each.host] = added.get(each.host, 0) + each.score * factor
        return np.array([_wrapped(added.get(info.name, 0)) for info in nodes], dtype=np.int64)

    def bind(self, pod: Pod, node_name: str, exchanges: list[ExtenderExchange]) -> Status | None:
        """What came of the binding; None when no extender takes it."""
        for extender in self._all:
            if not extender.config.bind_verb or not extender.is_interested(pod):
                continue
            try:
                extender.bind(pod, node_name, exchanges)
            except ExtenderError as error:
                if not extender.config.ignorable:
                    return Status.failed(str(error))
                message = "Skipping extender in bind as it returned error and has ignorable flag set"
                self._log(message, {"extender": extender.name, "err": str(error)})
                continue
            return SUCCESS
        return None

    def preempt(
        self,
        pod: Pod,
        victims: Mapping[str, Victims],
        node_of: Callable[[str], NodeInfo | None],
        exchanges: list[ExtenderExchange],
    ) -> Mapping[str, Victims] | Status:
        """The victims by node that all of them agree to, or the error that ends the preemption."""
        for extender in self._all:
            if not extender.config.preempt_verb or not extender.is_interested(pod):
                continue
            try:
                found = extender.preempt(pod, victims, node_of, exchanges)
            except ExtenderError as error:
                if not extender.config.ignorable:
                    return Status.failed(str(error))
                message = "Skipped extender as it returned error and has ignorable flag set"
                self._log(message, {"extender": extender.name, "err": str(error)})
                continue
            empty = [name for name, each in found.items() if not each.pods]
            if empty and not extender.config.ignorable:
                return Status.failed(f'expected at least one victim pod on node "{empty[0]}"')
            for name in empty:
                del found[name]
                message = "Ignored node for which the extender didn't report victims"
                self._log(message, {"node": name, "extender": extender.name})
            victims = found
            if not victims:
                break
        return victims


def _wrapped(score: int) -> int:
    """The sum as 64 bits hold it: upstream does not look for overflow."""
    return (score + 2**63) % 2**64 - 2**63
