"""One recorded scenario run on our engine, pod by pod, with the recorded choices: the first of equals, offset 0.

The engine sees the scenario and nothing else. Between the cycles the harness does what the recording's did: a
scheduled pod is confirmed as bound and Running, victims leave at once, nominations are written. Time stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from scheduler_core import config
from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch
from scheduler_core.build import build
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.effects import Attempt, BindingRequest, ClaimVerb, ClaimWrite, Effects
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import NodeToStatus, QueuedPodInfo
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from scheduler_core.sim.world import World
from tools.conformance import volumes
from tools.conformance.claims import ClaimApi, found_on
from tools.conformance.render import Json, cycle_of, not_run, profile_of, status_of

FIRST_START = datetime(2030, 1, 1, tzinfo=UTC)  # start of the first pod bound; one minute more for each further one
NOW_US = microseconds(FIRST_START + timedelta(days=30))
_SECOND_US = 1_000_000
_MOST_ATTEMPTS = 4  # of a pod for which claims are given back
_NO_CYCLES = Budget(max_cycles=0)


def run_scenario(
    scenario: Mapping[str, Any], *, use_table: bool, watch: Callable[[Engine], None] = lambda _: None
) -> Json:
    """Run the scenario on our engine, which `watch` gets before; return the result in the recordings' shape."""
    scheduler = build(config.load(scenario["config"]), draws=FirstDraws(), use_table=use_table)
    watch(scheduler.engine)
    run = _Run(scheduler, scenario["objects"], scenario["pending"], scenario.get("bindDelay") or {})
    cycles = run.cycles()
    result: Json = {
        "name": scenario["name"],
        "percentageOfNodesToScore": scheduler.engine.percentage_of_nodes_to_score,
        "nodeOrder": run.node_order(),
        "queueOrder": run.queue_order(),
        "cycles": cycles,
    }
    claims = run.claims.at_the_end()
    if claims:
        result["claims"] = claims
    if scenario["config"] is not None:
        result["profiles"] = [profile_of(framework) for _, framework in sorted(scheduler.engine.frameworks.items())]
    return result


@dataclass(slots=True)
class _Late:
    """A pod whose binding is held back until so many attempts of other pods are over."""

    attempts_left: int
    attempt: Attempt
    stored: list[Json]  # its claims before the cycle
    bindings: list[BindingRequest]
    writes: list[ClaimWrite]


class _Run:
    """A world with the objects of a scenario, in which pods are scheduled when the recording did it."""

    def __init__(
        self, scheduler: Scheduler, objects: Sequence[Json], pending: Sequence[Json], delays: Mapping[str, int]
    ) -> None:
        self.scheduler = scheduler
        self._delays = delays
        self._late: dict[str, _Late] = {}
        self._world = World(scheduler, now=NOW_US, evict_gracefully=False)
        self._pending = {pod.key: pod for pod in map(_pod, pending)}
        self._bound = 0
        # A pod that names its node would be taken for bound: it waits without the name and has it in its cycle only.
        waiting = [
            {"apiVersion": "v1", "kind": "Pod", **pod, "spec": {**pod["spec"], "nodeName": ""}} for pod in pending
        ]
        self._world.load(sorted(objects, key=_place))
        self._world.load(waiting)
        self.claims = ClaimApi(self._world)
        self._carry_out(Effects())

    def cycles(self) -> list[Json]:
        """A cycle for each pending pod in order, and more where something made a retry worthwhile."""
        cycles: list[Json] = []
        for key in self._pending:
            while True:
                cycles += self._bind_late()
                attempt, cycle = self._cycle(key)
                cycles.append(cycle)
                for other, late in self._late.items():
                    late.attempts_left -= other != key
                if attempt is None or not self._is_retried(attempt, cycle):
                    break
                self.scheduler.engine.activate([key])  # whether or not what happened brought it back
        return cycles + self._bind_late(at_the_end=True)

    def _is_retried(self, attempt: Attempt, cycle: Json) -> bool:
        told = cycle.get("postFilter", {})
        if "deallocated" in told:
            return attempt.attempt < _MOST_ATTEMPTS
        if attempt.attempt > 1:
            return False
        if cycle.get("stage") == "preBind":
            return len(set(map(_named, cycle["claims"]))) == len(cycle["claims"])
        return bool(told.get("code") == "Success")

    def node_order(self) -> list[str]:
        engine = self.scheduler.engine
        engine.snapshot.update_snapshot(engine.cache)
        return [info.name for info in engine.snapshot.list()]

    def queue_order(self) -> list[str]:
        """Return the pods as the queue sorts them when they arrive a second apart."""
        sort = next(iter(self.scheduler.engine.frameworks.values())).queue_sort
        entries = [QueuedPodInfo(pod, second * _SECOND_US) for second, pod in enumerate(self._pending.values())]
        return [entry.key for entry in sorted(entries, key=sort.sort_key)]

    def _cycle(self, key: str) -> tuple[Attempt | None, Json]:
        entry, recorded = self.scheduler.engine.queue.get(key), self._pending[key]
        if entry is not None and recorded.is_assigned:
            entry.pod = entry.pod.on_node(recorded.spec.node_name)
        plugin = self._claims_plugin(recorded)
        stored = self.claims.stored_of(recorded)
        on_nodes = found_on(plugin, recorded, self._nodes()) if plugin and stored and self._filters(recorded) else {}
        effects = self.scheduler.schedule_pod_now(key, NOW_US)
        if not effects.attempts:
            return None, self._kept_out(key)
        (attempt,) = effects.attempts
        cycle = cycle_of(attempt)
        if on_nodes and (attempt.result != "error" or attempt.node_name):  # else no node was looked for to the end
            found = {name: on_nodes[name] for name in cycle["feasible"] if name in on_nodes}
            if found:
                cycle["allocations"] = found
        if attempt.result == "error" and attempt.node_name:
            cycle |= {"node": attempt.node_name, "stage": "reserve"}
        if plugin is not None and stored:
            cycle |= self._deallocation(plugin, attempt, effects, cycle)
        if attempt.result == "scheduled" and key in self._delays:
            self._late[key] = _Late(self._delays[key], attempt, stored, effects.bindings, effects.claim_writes)
            effects.bindings, effects.claim_writes = [], []
            self._carry_out(effects)
            return attempt, cycle | {"stage": "reserved"}
        decided = volumes.decided(effects.writes)
        failure = self._carry_out(effects)
        if effects.writes:
            volumes.complete(effects.writes, self._world)
            self._carry_out(Effects())
        self._remove_victims(attempt)
        return attempt, self._with_claims(recorded, cycle, failure, stored) | ({"volumes": decided} if decided else {})

    def _bind_late(self, *, at_the_end: bool = False) -> list[Json]:
        """Bind the pods whose time has come, in the order of their cycles."""
        cycles: list[Json] = []
        for key, late in list(self._late.items()):
            if late.attempts_left > 0 and not at_the_end:
                continue
            del self._late[key]
            effects = Effects(bindings=list(late.bindings), claim_writes=list(late.writes))
            failure = self._carry_out(effects)
            cycle = not_run(key, late.attempt.attempt, "bound", 0) | {"node": late.attempt.node_name}
            cycles.append(self._with_claims(self._pending[key], cycle, failure, late.stored))
        return cycles

    def _with_claims(self, pod: Pod, cycle: Json, failure: str, before: Sequence[Json]) -> Json:
        """The cycle with what was written to claims, and how these are then."""
        noted, self.claims.noted = self.claims.noted, []
        if noted:
            cycle = cycle | {"writes": noted}
        if failure:
            cycle = cycle | {"outcome": "error", "stage": "preBind", "error": failure}
        is_told = cycle["outcome"] in ("scheduled", "bound") or failure or "deallocated" in cycle.get("postFilter", {})
        if not before or not is_told:
            return cycle
        is_bound = cycle["outcome"] in ("scheduled", "bound")
        return cycle | {"claims": self.claims.of_pod(pod, before=before if is_bound else None)}

    def _deallocation(self, plugin: DynamicResources, attempt: Attempt, effects: Effects, cycle: Json) -> Json:
        """What PostFilter could give back, and gave back."""
        if "postFilter" not in cycle:
            return {}
        statuses = NodeToStatus()
        rows, order = attempt.filter_rows, attempt.node_order
        if rows is None or order is None:
            return {}
        for node, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True):
            if code:
                statuses.set(order.names[node], rows.statuses[code - 1])
        if attempt.nominated is not None and attempt.nominated.status is not None:
            statuses.set(attempt.nominated.node_name, attempt.nominated.status)
        state = CycleState()
        plugin.pre_filter(state, self._pending[attempt.pod_key], ())
        names = [claim.key for claim in plugin.unavailable_claims(state, statuses)]
        told: Json = {"unavailableClaims": names} if names else {}
        for write in effects.claim_writes:
            if write.verb is ClaimVerb.DEALLOCATE:
                told["deallocated"] = f"{write.namespace}/{write.claim_name}"
        return {"postFilter": cycle["postFilter"] | told}

    def _claims_plugin(self, pod: Pod) -> DynamicResources | None:
        framework = self.scheduler.engine.frameworks.get(pod.spec.scheduler_name)
        found = framework.instances.get("DynamicResources") if framework is not None else None
        return found if isinstance(found, DynamicResources) else None

    def _filters(self, pod: Pod) -> bool:
        """Whether the pod's profile has the plugin of claims look at nodes: else it remembers nothing of them."""
        framework = self.scheduler.engine.frameworks[pod.spec.scheduler_name]
        return any(plugin.name == DynamicResources.name for plugin in framework.filter)

    def _nodes(self) -> list[Node]:
        engine = self.scheduler.engine
        engine.snapshot.update_snapshot(engine.cache)
        return [info.node for info in engine.snapshot.list() if info.node is not None]

    def _kept_out(self, key: str) -> Json:
        """The cycle of a pod without a profile or gated, not popped (recordings check for a deletion first)."""
        engine = self.scheduler.engine
        pod = self._pending[key]
        framework = engine.frameworks.get(pod.spec.scheduler_name)
        if framework is None:
            error = f'profile not found for scheduler name "{pod.spec.scheduler_name}"'
            return not_run(key, 1, "noProfile", engine.next_start_node_index) | {"error": error}
        if pod.is_terminating:
            return not_run(key, 1, "skipped", engine.next_start_node_index)
        cycle = not_run(key, 1, "gated", engine.next_start_node_index)
        for plugin in framework.pre_enqueue:
            status: Status = plugin.pre_enqueue(pod)
            if status is not SUCCESS and not status.is_success:
                return cycle | {"preEnqueue": status_of(status.by(plugin.name))}
        return cycle

    def _carry_out(self, effects: Effects) -> str:
        """Do what the scheduler asks for, and what that leads to, until nothing more is asked for; without a cycle.

        Return why a PreBind failed, empty when none did.
        """
        failure = ""
        while True:
            verdicts = self.claims.carry_out(effects.claim_writes)
            for verdict in verdicts:
                if not verdict.done:
                    failure = f'running PreBind plugin "{verdict.plugin}": {verdict.message}'
            effects.claim_writes = []
            for binding in effects.bindings:
                self._lift_gates(binding)
            self._world.carry_out(effects)
            for binding in effects.bindings:
                self._run(binding)
            changes = [*self._world.take_changes(), *verdicts]
            if not changes:
                return failure
            effects = self.scheduler.step(NOW_US, changes, _NO_CYCLES)

    def _lift_gates(self, binding: BindingRequest) -> None:
        """Let a gated pod be bound, as the recordings do; it occurs where a profile leaves out SchedulingGates.

        The API server they ran on binds any pod; a real one, and so our rules, refuse one with gates. Later cycles have
        to find the pod on its node as they did in the recording. Nothing reads the gates of a bound pod.
        """
        pod = self._world.store.get(_key(binding.namespace, binding.name))
        if pod is not None and "schedulingGates" in pod["spec"]:
            spec = {name: value for name, value in pod["spec"].items() if name != "schedulingGates"}
            self._world.load([{**pod, "spec": spec}])

    def _run(self, binding: BindingRequest) -> None:
        """Let the bound pod run, started a minute after the one before."""
        started = microseconds(FIRST_START + timedelta(minutes=self._bound))
        self._bound += 1
        status = {"phase": "Running", "startTime": time_text(started), "nominatedNodeName": None}
        self._world.request(Patch(_key(binding.namespace, binding.name), {"status": status}, subresource="status"))

    def _remove_victims(self, attempt: Attempt) -> None:
        """Victims that were being deleted already are not asked to leave, but leave with the others."""
        record = attempt.post_filter.preemption if attempt.post_filter is not None else None
        for victim in record.victims if record is not None else ():
            namespace, _, name = victim.partition("/")
            self._world.request(Delete(_key(namespace, name), 0))
        self._carry_out(Effects())


def _named(claim: Json) -> str:
    return str(claim["claim"])


def _key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey(Pod.kind, namespace, name)


def _place(manifest: Mapping[str, Any]) -> int:
    """Nodes come before pods, bound ones first; all else before them."""
    if manifest["kind"] != "Pod":
        return 1 if manifest["kind"] == "Node" else 0
    return 2 if manifest["spec"].get("nodeName") else 3


def _pod(manifest: Mapping[str, Any]) -> Pod:
    return cast(Pod, manifests.decode(manifest, kind="Pod"))
