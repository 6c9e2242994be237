"""Fields of a pod that may keep it from nodes: each taken away altogether, and then changed as little as is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from msgspec.structs import replace as changed

from scheduler_core.api.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
    WeightedPodAffinityTerm,
)
from scheduler_core.api.pod import Pod, PodSpec
from scheduler_core.config import names
from scheduler_core.explain.fits.changes import Change, Edit, Kind, World
from scheduler_core.explain.fits.requests import lowered, request_edits
from scheduler_core.explain.fits.smallest import least
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.helpers import HARD_TAINT_EFFECTS, is_tolerated
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE_TAINT
from scheduler_core.plugins.taint_toleration import taint_text

MOST_TAINTS: Final = 20  # that are tried one by one: those of most nodes
_SOFT_WEIGHT: Final = 100  # of a rule that is preferred from now on
_MOST_SKEW: Final = 2**31 - 1

Refine = Callable[[Tries, World], Sequence[Change]]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Something that no longer keeps the pod away. `plugins`: whose refusals it may lift.

    `refine`: the changes to the same end that are no larger than needed, in a world without it where the pod fits on a
    node with it.
    """

    plugins: frozenset[str]
    edit: Edit
    refine: Refine


def relaxations(pod: Pod, infos: Sequence[NodeInfo]) -> Iterator[Relaxation]:
    """All of the pod's own; what it does not ask for is not among them."""
    yield from _requests(pod)
    yield from _tolerations(pod, infos)
    yield from _node_rules(pod)
    yield from _pod_rules(pod)
    yield from _spread(pod)
    yield from _host_ports(pod)


def gates(pods: Sequence[Pod]) -> tuple[Change, ...]:
    """The gates of the pods lifted, one by one."""
    found: dict[str, Change] = {}
    for pod in pods:
        for index, gate in enumerate(pod.spec.scheduling_gates or ()):
            change = Change(Kind.GATE, f"spec.schedulingGates[{index}]", gate.name, "", _lift(gate.name))
            found.setdefault(gate.name, change)
    return tuple(found.values())


def is_of_kubernetes(label: str) -> bool:
    """Whether others than people keep the label of nodes."""
    domain, has_domain, _ = label.partition("/")
    return bool(has_domain) and (domain.endswith(("kubernetes.io", "k8s.io")))


def _lift(gate: str) -> Edit:
    def lifted(spec: PodSpec) -> PodSpec:
        left = tuple(each for each in spec.scheduling_gates or () if each.name != gate)
        return changed(spec, scheduling_gates=left or None)

    return lambda world: world.of_each(lambda spec: bool(spec.scheduling_gates), lifted)


def as_it_is(change: Change, *plugins: str) -> Relaxation:
    """A change that cannot be smaller."""
    return Relaxation(frozenset(plugins), change.edit, lambda _tries, _world: (change,))


def _requests(pod: Pod) -> Iterator[Relaxation]:
    for request in request_edits(pod):

        def refine(tries: Tries, world: World, request: Any = request) -> Sequence[Change]:
            found = lowered(tries, world, request)
            return () if found is None else (found,)

        yield Relaxation(frozenset({names.NODE_RESOURCES_FIT}), request.to(0), refine)


def _tolerations(pod: Pod, infos: Sequence[NodeInfo]) -> Iterator[Relaxation]:
    """Of the taint of a cordon none: the cordon itself is lifted."""
    tolerations, counted = pod.spec.tolerations or (), dict[tuple[str, str, str], int]()
    for info in infos:
        for taint in info.node.taints if info.node is not None else ():
            key = taint.key, taint.value, taint.effect
            counted[key] = counted.get(key, 0) + 1
    taints = [Taint(key, effect, value) for key, value, effect in sorted(counted, key=lambda key: (-counted[key], key))]
    wanted = [
        taint
        for taint in taints
        if taint.effect in HARD_TAINT_EFFECTS
        and taint.key != UNSCHEDULABLE_TAINT.key
        and not is_tolerated(taint, tolerations)
    ]
    for taint in wanted[:MOST_TAINTS]:
        operator = "Equal" if taint.value else "Exists"
        added = Toleration(taint.key, operator, taint.value, taint.effect)

        def edit(world: World, added: Toleration = added) -> World:
            return world.with_spec(tolerations=(*(world.pod.spec.tolerations or ()), added))

        change = Change(Kind.TOLERATION, "spec.tolerations", "", taint_text(taint), edit)
        yield as_it_is(change, names.TAINT_TOLERATION)


def _node_rules(pod: Pod) -> Iterator[Relaxation]:
    for key, value in (pod.spec.node_selector or {}).items():

        def without(world: World, key: str = key) -> World:
            left = {name: value for name, value in (world.pod.spec.node_selector or {}).items() if name != key}
            return world.with_spec(node_selector=left or None)

        yield as_it_is(Change(Kind.NODE_SELECTOR, f"spec.nodeSelector.{key}", value, "", without), names.NODE_AFFINITY)
    required = required_terms(pod)
    if required is None:
        return
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(required.node_selector_terms):
        expressions, fields = term.match_expressions or (), term.match_fields or ()
        if len(expressions) + len(fields) < 2:
            continue
        for name, listed in (("match_expressions", expressions), ("match_fields", fields)):
            for place, asked in enumerate(listed):
                left = (*listed[:place], *listed[place + 1 :])
                word = "matchExpressions" if name == "match_expressions" else "matchFields"
                yield as_it_is(
                    Change(
                        Kind.NODE_AFFINITY,
                        f"{path}.nodeSelectorTerms[{index}].{word}[{place}]",
                        " ".join((asked.key, asked.operator, ",".join(asked.values or ()))).strip(),
                        "",
                        _with_term(index, changed(term, **{name: left or None})),
                    ),
                    names.NODE_AFFINITY,
                )
    yield as_it_is(Change(Kind.NODE_AFFINITY, path, "required", "preferred", _prefer_nodes), names.NODE_AFFINITY)


def required_terms(pod: Pod) -> NodeSelector | None:
    """The required node affinity."""
    affinity = pod.spec.affinity
    rules = affinity.node_affinity if affinity is not None else None
    return rules.required_during_scheduling_ignored_during_execution if rules is not None else None


def _with_term(index: int, term: NodeSelectorTerm) -> Edit:
    def edit(world: World) -> World:
        affinity = world.pod.spec.affinity or Affinity()
        rules, terms = affinity.node_affinity or NodeAffinity(), required_terms(world.pod) or NodeSelector()
        listed = (*terms.node_selector_terms[:index], term, *terms.node_selector_terms[index + 1 :])
        kept = changed(rules, required_during_scheduling_ignored_during_execution=NodeSelector(listed))
        return world.with_spec(affinity=changed(affinity, node_affinity=kept))

    return edit


def _prefer_nodes(world: World) -> World:
    affinity, terms = world.pod.spec.affinity or Affinity(), required_terms(world.pod) or NodeSelector()
    rules = affinity.node_affinity or NodeAffinity()
    soft = tuple(PreferredSchedulingTerm(_SOFT_WEIGHT, term) for term in terms.node_selector_terms)
    kept = NodeAffinity(None, (*(rules.preferred_during_scheduling_ignored_during_execution or ()), *soft))
    return world.with_spec(affinity=changed(affinity, node_affinity=kept))


def _pod_rules(pod: Pod) -> Iterator[Relaxation]:
    """Terms of affinity and anti-affinity that are preferred from now on."""
    for kind, name, word in (
        (Kind.POD_AFFINITY, "pod_affinity", "podAffinity"),
        (Kind.POD_ANTI_AFFINITY, "pod_anti_affinity", "podAntiAffinity"),
    ):
        for index, term in enumerate(_required_of(pod, name)):

            def soften(world: World, name: str = name, term: PodAffinityTerm = term) -> World:
                affinity = world.pod.spec.affinity or Affinity()
                rules: PodAffinity = getattr(affinity, name)
                left = tuple(each for each in _required_of(world.pod, name) if each != term)
                soft = rules.preferred_during_scheduling_ignored_during_execution or ()
                kept = PodAffinity(left or None, (*soft, WeightedPodAffinityTerm(_SOFT_WEIGHT, term)))
                return world.with_spec(affinity=changed(affinity, **{name: kept}))

            path = f"spec.affinity.{word}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield as_it_is(Change(kind, path, "required", "preferred", soften), names.INTER_POD_AFFINITY)


def _required_of(pod: Pod, name: str) -> tuple[PodAffinityTerm, ...]:
    rules: PodAffinity | None = getattr(pod.spec.affinity or Affinity(), name)
    return (rules.required_during_scheduling_ignored_during_execution or ()) if rules is not None else ()


def _spread(pod: Pod) -> Iterator[Relaxation]:
    for index, constraint in enumerate(pod.spec.topology_spread_constraints or ()):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        path = f"spec.topologySpreadConstraints[{index}]"

        def soften(world: World, index: int = index) -> World:
            return _with_constraint(world, index, when_unsatisfiable="ScheduleAnyway")

        soft = Change(Kind.SPREAD, f"{path}.whenUnsatisfiable", "DoNotSchedule", "ScheduleAnyway", soften)

        def refine(
            tries: Tries,
            world: World,
            index: int = index,
            path: str = path,
            old: int = constraint.max_skew,
            soft: Change = soft,
        ) -> Sequence[Change]:
            def skewed(skew: int) -> Edit:
                return lambda given: _with_constraint(given, index, max_skew=skew)

            skew = least(old + 1, lambda skew: bool(tries.feasible(skewed(skew)(world))), _most_pods(tries))
            if skew is None:
                return (soft,)
            share = min(Fraction(skew - old, old), Fraction(1))
            raised = Change(Kind.MAX_SKEW, f"{path}.maxSkew", str(old), str(skew), skewed(skew), step="1", share=share)
            return raised, soft

        yield Relaxation(frozenset({names.POD_TOPOLOGY_SPREAD}), soften, refine)


def _with_constraint(world: World, index: int, **fields: object) -> World:
    listed = list(world.pod.spec.topology_spread_constraints or ())
    listed[index] = changed(listed[index], **fields)
    return world.with_spec(topology_spread_constraints=tuple(listed))


def _most_pods(tries: Tries) -> int:
    """No domain has more pods than there are."""
    return min(sum(len(info.pods) for info in tries.infos) + 1, _MOST_SKEW)


def _host_ports(pod: Pod) -> Iterator[Relaxation]:
    for name, word in (("containers", "containers"), ("init_containers", "initContainers")):
        for at, container in enumerate(getattr(pod.spec, name) or ()):
            for place, port in enumerate(container.ports or ()):
                if port.host_port <= 0 or (name == "init_containers" and not container.is_restartable_init):
                    continue

                def drop(world: World, name: str = name, at: int = at, place: int = place) -> World:
                    listed = list(getattr(world.pod.spec, name))
                    ports = list(listed[at].ports)
                    ports[place] = changed(ports[place], host_port=0)
                    listed[at] = changed(listed[at], ports=tuple(ports))
                    return world.with_spec(**{name: tuple(listed)})

                path = f"spec.{word}[{at}].ports[{place}].hostPort"
                yield as_it_is(Change(Kind.HOST_PORT, path, str(port.host_port), "", drop), names.NODE_PORTS)
