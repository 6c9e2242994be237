"""The simulated kubelets: admit bound pods, start them, let their containers go their ways, remove deleted ones.

    bound ──admission──▶ rejected (Failed), or Pending ──start delay──▶ Running ──run time──▶ Succeeded
    Running ──containers that end, init containers, deadlines──▶ as `Containers` says
    deletion asked for ──min(grace, hooks and stop time)──▶ gone, whatever phase anybody wrote meanwhile
    Running, resized or readiness changed ──at once──▶ Running, status written anew
    extended resource of a node's capacity set or taken away ──at once──▶ the same of what is allocatable
    node's kubelet silent ──▶ nothing is reported; heard again ──▶ all that is due meanwhile, at once

Durations come from the pod's annotations (`annotations.py`) and the cluster's start delay. A pod's clock for starting
begins when it is first seen bound; the others begin at times its object carries, so a new kubelet goes on where
another stopped. A pod on a node that does not exist waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.records import Lease
from scheduler_core.api.resource_claims import ResourceClaim
from scheduler_core.api.stored import ConfigMap
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.requests import Request
from scheduler_core.controllers.annotations import RUN_SECONDS, START_SECONDS, duration_us
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.kubelet.admission import EVICTED, Rejected, admit
from scheduler_core.controllers.kubelet.blueprint import Blueprints
from scheduler_core.controllers.kubelet.claims import FAILED, ClaimsOfPods
from scheduler_core.controllers.kubelet.configuration import CONFIG_KEY, CONFIG_MAP
from scheduler_core.controllers.kubelet.containers import Containers
from scheduler_core.controllers.kubelet.critical import PREEMPTED_CONDITION, PREEMPTED_MESSAGE, PREEMPTING
from scheduler_core.controllers.kubelet.node_state import NodeState, booted, caught_up, status_patch
from scheduler_core.controllers.kubelet.pressure import Pressure
from scheduler_core.controllers.kubelet.reports import Ending, Reports, has_started
from scheduler_core.controllers.kubelet.static_pods import StaticPods
from scheduler_core.controllers.kubelet.stopping import grace_of_us, is_confirmed, stop_us
from scheduler_core.controllers.node_agent import KUBELET_WAS, NODE_LEASES, AgentState, has_outside_agent
from scheduler_core.controllers.node_status import changed_allocatable
from scheduler_core.controllers.pod_status import RUNNING, lacking
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from scheduler_core.model.types import PodInfo


class Kubelet:
    """All simulated kubelets of one cluster."""

    name, actor, group = "kubelet", "kubelet", "kubelet"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._start_delay_us = cluster.start_delay_us
        self._pods: dict[str, Pod] = {}  # bound and not over, or whose end is still to be confirmed, by uid
        self._first_seen: dict[str, int] = {}
        self._scheduled: dict[str, tuple[int, tuple[object, ...]]] = {}  # what the deadline was set for
        self._deadlines = Deadlines()
        # Pods, by uid, of nodes whose kubelet runs somewhere: it renews a lease, or the node says so.
        self._left: dict[str, dict[str, Pod]] = {}
        self._named: set[str] = set()  # those of them that say so
        self._nodes: dict[str, NodeState] = {}
        self._steps = 0
        self._unjudged: dict[str, None] = {}  # uids of pods that came with this step
        self._ending: dict[str, Ending] = {}  # pods that are made to end, by uid
        self._blueprints = Blueprints()
        self._reports = Reports()
        self._caught_up: list[Request] = []  # asked for after all else: nodes whose kubelets came back
        self._claims = ClaimsOfPods()
        self._pressure = Pressure(self._pods_of, self._reports.events)
        self._static = StaticPods(self._reports.events)

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what is due at `now`."""
        requests: list[Request] = []
        self._steps += 1
        for change in changes:
            if isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, Pod):
                    self._put(obj, now)
                elif isinstance(obj, Node):
                    requests += self._put_node(obj, now)
                elif isinstance(obj, Lease):
                    if obj.namespace == NODE_LEASES:
                        self._leave(obj.name)
                elif isinstance(obj, ResourceClaim):
                    self._put_claim(obj)
                elif isinstance(obj, ConfigMap) and (obj.namespace, obj.name) == CONFIG_MAP:
                    requests += self._pressure.put_common((obj.data or {}).get(CONFIG_KEY, ""), now)
            elif isinstance(change, ObjectDeleted):
                if change.kind == Pod.kind:
                    self._forget(change.uid or self._uid_of(change.namespace, change.name))
                    self._static.deleted(change.namespace, change.name)
                elif change.kind == Node.kind:
                    self._lose_node(change.name)
                elif change.kind == ResourceClaim.kind:
                    self._claims.remove(f"{change.namespace}/{change.name}")
                elif change.kind == ConfigMap.kind and (change.namespace, change.name) == CONFIG_MAP:
                    requests += self._pressure.put_common("", now)
        if self._unjudged:
            requests += self._judge(now)
        for uid, message in self._claims.untold().items():
            requests += self._reports.warning(self._pods[uid], FAILED, message, now)
        requests += self._static.step()
        looked, evicted = self._pressure.step(now)
        requests += looked
        for one in evicted:
            condition = one.message if one.is_disruption else ""
            self._ending[one.pod.uid] = Ending(one.at, EVICTED, one.message, condition)
            self._schedule(self._pods[one.pod.uid], self._node(one.pod.spec.node_name))
        for uid in self._deadlines.pop_due(now):
            requests += self._requests(self._pods[uid], now)
        caught_up, self._caught_up = self._caught_up, []
        return requests + caught_up

    def next_due(self) -> int | None:
        """Return when the next pod starts, completes or is gone, or a node is looked at, in microseconds."""
        first, look = self._deadlines.first(), self._pressure.next_due()
        return first if look is None or (first is not None and first < look) else look

    # Changes

    def _put(self, pod: Pod, now: int) -> None:
        meta, status = pod.metadata, pod.status
        uid, node_name = meta.uid, pod.spec.node_name
        before = self._pods.get(uid)
        if meta.annotations and node_name:
            self._static.put_pod(pod)
        is_over = pod.is_terminal and is_confirmed(pod)
        if not node_name or is_over or node_name in self._left:
            if before is not None:
                self._forget(uid)
            if node_name in self._left and not is_over:
                self._left[node_name][uid] = pod
            return
        self._pods[uid] = pod
        if status.pod_ip and (before is None or before.status.pod_ip != status.pod_ip):
            self._reports.addresses.hold(uid, status.pod_ip)
        if before is None:
            self._first_seen[uid] = now
            self._unjudged[uid] = None
            return
        if uid in self._unjudged:
            return
        state = self._nodes[node_name]
        if uid in state.waiting:
            return
        if before.metadata.generation != meta.generation:
            state.add(PodInfo.of(pod))
        if meta.annotations and before.metadata.annotations != meta.annotations:
            self._reports.note_way(pod)
        if uid in self._reports.own_way:
            self._pressure.put_pod(pod)
        self._schedule(pod, state)

    def _put_claim(self, claim: ResourceClaim) -> None:
        for uid in self._claims.put(claim):
            pod = self._pods[uid]
            if uid not in self._unjudged:
                self._schedule(pod, self._node(pod.spec.node_name))

    def _put_node(self, node: Node, now: int) -> list[Request]:
        if has_outside_agent(node):
            self._named.add(node.name)
            self._leave(node.name)
        elif node.name in self._named:
            self._take_back(node.name, now)
        if node.name in self._left:
            return []
        state = self._node(node.name)
        before = state.node
        requests: list[Request] = []
        was_heard = state.is_heard
        comes_back = state.put(node, now)
        changed = changed_allocatable(before, node)
        if changed:
            requests.append(status_patch(node, {"allocatable": changed}))
        if comes_back:
            requests += self._take_up(state, now)
        elif was_heard and not state.is_heard:
            for uid in state.uids():
                self._unschedule(uid)
        if state.is_heard:
            requests += self._pressure.put_node(node, now)
            requests += self._static.put_node(node, now)
        else:
            for part in (self._pressure, self._static):
                part.drop_node(node.name, forgets=state.agent.state == AgentState.OFF)
        return requests

    def _take_up(self, state: NodeState, now: int) -> list[Request]:
        """Go on with the pods of a node whose kubelet is heard again."""
        self._unjudged |= state.waiting
        for uid in state.waiting:
            self._first_seen[uid] = now
        state.waiting.clear()
        requests: list[Request] = []
        if state.node is not None:
            requests += [booted(state.node, now)] if state.rebooted else []
            self._caught_up += [caught_up(state.node)] if KUBELET_WAS in state.node.annotations else []
        for uid in [*state.uids()]:
            pod = self._pods[uid]
            if state.rebooted and not pod.is_terminating and has_started(pod):
                requests.append(self._reports.rebooted(pod, state, now))
            else:
                self._schedule(pod, state)
        return requests

    def _lose_node(self, name: str) -> None:
        state = self._nodes.get(name)
        if state is not None:
            state.lose()
            for part in (self._pressure, self._static):
                part.drop_node(name, forgets=True)
            for uid in state.uids():
                self._unschedule(uid)

    def _leave(self, name: str) -> None:
        """Leave a node and its pods to the kubelet that runs somewhere."""
        if name in self._left:
            return
        pods = self._left[name] = {uid: pod for uid, pod in self._pods.items() if pod.spec.node_name == name}
        for uid in pods:
            self._forget(uid)
        self._nodes.pop(name, None)
        self._pressure.drop_node(name, forgets=True)
        self._static.drop_node(name, forgets=True)

    def _take_back(self, name: str, now: int) -> None:
        """Have the node simulated again."""
        self._named.discard(name)
        for pod in self._left.pop(name, {}).values():
            self._put(pod, now)

    def _forget(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is None:
            for pods in self._left.values():
                pods.pop(uid, None)
            return
        state = self._nodes.get(pod.spec.node_name)
        if state is not None:
            if state.waiting and uid in state.waiting:
                self._deadlines.drop(uid)
            state.remove(pod)
        self._first_seen.pop(uid, None)
        self._unjudged.pop(uid, None)
        self._ending.pop(uid, None)
        self._unschedule(uid)
        self._claims.forget(uid)
        if uid in self._reports.own_way:
            self._pressure.drop_pod(pod)
        self._reports.forget(uid)

    def _uid_of(self, namespace: str, name: str) -> str:
        key = f"{namespace}/{name}"
        return next((uid for uid, pod in self._pods.items() if pod.key == key), "")

    def _pods_of(self, node_name: str) -> list[Pod]:
        """Pods of the node that run and that nobody ends yet, the oldest first."""
        pods = [self._pods[uid] for uid in self._node(node_name).uids() if uid not in self._ending]
        return sorted((pod for pod in pods if has_started(pod) and not pod.is_terminating), key=_age)

    def _node(self, name: str) -> NodeState:
        state = self._nodes.get(name)
        if state is None:
            state = self._nodes[name] = NodeState()
        return state

    # Admission

    def _judge(self, now: int) -> list[Request]:
        """Admit or reject the pods that came; those that run already are there before all others."""
        requests: list[Request] = []
        unjudged, self._unjudged = self._unjudged, {}
        new: list[tuple[Pod, NodeState]] = []
        for uid in unjudged:
            pod = self._pods[uid]
            state = self._node(pod.spec.node_name)
            if (
                pod.metadata.annotations
                or pod.status.container_statuses
                or pod.spec.active_deadline_seconds is not None
            ):
                self._reports.note_way(pod)
            if has_started(pod):
                state.add(PodInfo.of(pod))
                if state.rebooted and state.is_heard and state.has_lost(pod):
                    requests.append(self._reports.rebooted(pod, state, now))
                else:
                    self._schedule(pod, state)
                if uid in self._reports.own_way:
                    self._pressure.put_pod(pod)
            elif state.is_heard:
                new.append((pod, state))
            else:
                state.waiting[uid] = None
        for pod, state in new:
            requests += self._judge_one(pod, state, now)
        return requests

    def _judge_one(self, pod: Pod, state: NodeState, now: int) -> Sequence[Request]:
        if pod.is_terminating:
            self._schedule(pod, state)
            return ()
        since = self._static.running_since(pod) if pod.metadata.annotations else None
        if since is not None:
            self._reports.running_since[pod.uid] = self._first_seen[pod.uid] = since
        info, blueprint = self._blueprints.of(pod)
        node_info = state.info
        if blueprint.asks_for_room_only and not state.may_refuse and blueprint.fits(node_info):
            node_info.add_pod(info)
            self._reports.parts[pod.metadata.uid] = blueprint.parts
            self._schedule(pod, state)
            return ()
        verdict = admit(info, node_info, state.pressures)
        if isinstance(verdict, Rejected):
            again = state.rejects_again(self._steps, now)
            if again is not None:
                state.waiting[pod.uid] = None
                self._deadlines.set(pod.uid, again)
                return ()
            return self._reports.rejected(pod, verdict, now)
        requests: list[Request] = []
        for victim in verdict.victims:
            current = self._pods.get(victim.uid, victim)
            grace_us = grace_of_us(current)
            requests += self._reports.warning(current, PREEMPTING, PREEMPTED_MESSAGE, now)
            ends = now + min(grace_us, stop_us(current))
            self._first_seen[pod.uid] = max(self._first_seen[pod.uid], ends)
            self._ending[victim.uid] = Ending(ends, PREEMPTING, PREEMPTED_MESSAGE, PREEMPTED_CONDITION)
            self._schedule(current, state)
        node_info.add_pod(info)
        self._schedule(pod, state)
        return requests

    # Deadlines

    def _schedule(self, pod: Pod, state: NodeState) -> None:
        """Set the pod's deadline; a change that moves no deadline must not repeat a request."""
        uid = pod.metadata.uid
        if not state.is_heard:
            self._unschedule(uid)
            return
        missing = lacking(pod) if pod.status.container_statuses or pod.spec.readiness_gates else ()
        due = self._due(pod, state, bool(missing))
        if self._ending:
            ending = self._ending.get(uid)
            if ending is not None and (due is None or ending.at < due):
                due = ending.at
        if due is None:
            self._unschedule(uid)
        elif self._scheduled.get(uid) != (due, missing):
            self._scheduled[uid] = due, missing
            self._deadlines.set(uid, due)

    def _unschedule(self, uid: str) -> None:
        if self._scheduled.pop(uid, None) is not None:
            self._deadlines.drop(uid)

    def _due(self, pod: Pod, state: NodeState, is_lacking: bool) -> int | None:
        meta, status = pod.metadata, pod.status
        uid, asked_to_end = meta.uid, meta.deletion_timestamp
        if asked_to_end is not None:
            grace_us = (meta.deletion_grace_period_seconds or 0) * 1_000_000
            asked = max(microseconds(asked_to_end) - grace_us, state.heard_since)
            is_gone = state.rebooted and asked == state.heard_since  # with its machine
            return asked if is_gone else asked + min(grace_us, stop_us(pod))
        if uid in self._reports.own_way and has_started(pod):
            return self._first_seen[uid] if is_lacking else Containers(pod, state.heard_since).next_due()
        if status.phase != RUNNING:
            if pod.spec.resource_claims and self._claims.keeps(pod):
                return None
            delay_us = duration_us(pod, START_SECONDS) if meta.annotations else None
            return self._first_seen[uid] + (self._start_delay_us if delay_us is None else delay_us)
        if is_lacking:
            return self._first_seen[uid]
        run_us = duration_us(pod, RUN_SECONDS) if meta.annotations else None
        if run_us is None:
            return None
        return (microseconds(status.start_time) if status.start_time is not None else self._first_seen[uid]) + run_us

    def _requests(self, pod: Pod, now: int) -> Sequence[Request]:
        state = self._node(pod.spec.node_name)
        if state.waiting and pod.uid in state.waiting:
            if not state.is_heard:
                return ()
            del state.waiting[pod.uid]
            return self._judge_one(pod, state, now)
        if pod.is_terminating:
            return self._reports.deleted(pod, now)
        ending = self._ending.get(pod.uid)
        if ending is not None and ending.at <= now:
            return [self._reports.disrupted(pod, ending, now)]
        return self._reports.next_of(pod, state, now)


def _age(pod: Pod) -> tuple[bool, int, str]:
    created = pod.metadata.creation_timestamp
    return created is not None, 0 if created is None else microseconds(created), pod.uid
