"""Changes of nodes: a cordon lifted, a label set, a node more of a shape that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from operator import lt
from typing import Final

import msgspec

from scheduler_core.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Toleration
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import CPU, MEMORY, amount, pod_requests
from scheduler_core.api.selectors import int64_of, parse_node_term, required_node_affinity
from scheduler_core.config import names
from scheduler_core.explain.fits.changes import Change, Edit, Kind, World, edited, labelled
from scheduler_core.explain.fits.pod_fields import Relaxation, is_of_kubernetes, required_terms
from scheduler_core.explain.fits.smallest import fewest, least
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE_TAINT

MOST_SHAPES: Final = 12  # of nodes that are tried, the smallest first
MOST_LABELLED: Final = 100  # nodes that are looked at for a label
MOST_TRIED: Final = 5  # nodes that are tried with a label
HOST: Final = "kubernetes.io/hostname"
_ENOUGH_SHAPES: Final = 2

_PAST_CORDONS = Toleration(UNSCHEDULABLE_TAINT.key, "Exists", "", UNSCHEDULABLE_TAINT.effect)


def relaxations(pod: Pod, infos: Sequence[NodeInfo]) -> Iterator[Relaxation]:
    """As if no node were cordoned, or if nodes had the labels that are asked for: refined to one node."""
    by_name = {info.name: info.node for info in infos if info.node is not None}
    if any(node.spec.unschedulable for node in by_name.values()):

        def past(world: World) -> World:
            return world.with_spec(tolerations=(*(world.pod.spec.tolerations or ()), _PAST_CORDONS))

        def uncordon(tries: Tries, world: World) -> Sequence[Change]:
            nodes = [by_name[name] for name in tries.nodes(past(world)) if by_name[name].spec.unschedulable]
            kept = _as_few(tries, world, nodes, _uncordoned)
            return _of_all(kept, _uncordoning)

        yield Relaxation(frozenset({names.NODE_UNSCHEDULABLE, names.TAINT_TOLERATION}), past, uncordon)
    for key, value in (pod.spec.node_selector or {}).items():
        if not is_of_kubernetes(key):
            yield _labelled_for(key, value, by_name)
    if required_terms(pod) is not None:
        yield _labelled_for_terms(by_name)


def _as_few(tries: Tries, world: World, nodes: Sequence[Node], edit_of: Callable[[Node], Edit]) -> Sequence[Node]:
    """Of the nodes as few as are enough when each is changed; a single one is not tried here."""
    if len(nodes) < 2:
        return nodes

    def is_enough(some: Sequence[Node]) -> bool:
        return bool(tries.placed(_all_of([edit_of(node) for node in some])(world)))

    return fewest(nodes, is_enough)


def _of_all(nodes: Sequence[Node], change_of: Callable[[Node], Change]) -> Sequence[Change]:
    """The change of the first node, which changes the others as well; none where there is no node."""
    changes = [change_of(node) for node in nodes]
    if len(changes) < 2:
        return changes
    old = changes[0].old if all(each.old == changes[0].old for each in changes) else ""
    edit = _all_of([each.edit for each in changes])
    return (replace(changes[0], old=old, edit=edit, more=tuple(each.node for each in changes[1:])),)


def _all_of(edits: Sequence[Edit]) -> Edit:
    def edit(world: World) -> World:
        for each in edits:
            world = each(world)
        return world

    return edit


def _uncordoning(node: Node) -> Change:
    return Change(Kind.UNCORDON, "spec.unschedulable", "true", "", _uncordoned(node), node=node.name)


def _uncordoned(node: Node) -> Edit:
    def lifted(given: Node) -> Node:
        mark = (UNSCHEDULABLE_TAINT.key, UNSCHEDULABLE_TAINT.effect)
        left = tuple(taint for taint in given.taints if (taint.key, taint.effect) != mark)
        return edited(given, unschedulable=False, taints=left or None)

    return lambda world: world.with_node(node, lifted)


def _labelled_for(key: str, value: str, by_name: dict[str, Node]) -> Relaxation:
    """The label may be a domain of spreading as well."""

    def without(world: World) -> World:
        left = {name: each for name, each in (world.pod.spec.node_selector or {}).items() if name != key}
        return _unspread(world.with_spec(node_selector=left or None))

    def relabel(tries: Tries, world: World) -> Sequence[Change]:
        if world.others:
            asked = [by_name[name] for name in tries.nodes(without(world)) if by_name[name].labels.get(key) != value]
            return _relabelled_as_few(tries, world, asked, key, value)
        for node in _best_first(tries, without(world), by_name)[:MOST_TRIED]:
            change = _relabelled(node, key, value)
            if node.labels.get(key) != value and tries.placed(change.edit(world)):
                return (change,)
        return ()

    return Relaxation(frozenset({names.NODE_AFFINITY, names.POD_TOPOLOGY_SPREAD}), without, relabel)


def _unspread(world: World) -> World:
    """Without hard constraints: with another label other nodes are counted."""
    listed = world.pod.spec.topology_spread_constraints
    if listed is None:
        return world
    soft = tuple(msgspec.structs.replace(each, when_unsatisfiable="ScheduleAnyway") for each in listed)
    return world.with_spec(topology_spread_constraints=soft)


def _best_first(tries: Tries, world: World, by_name: dict[str, Node]) -> list[Node]:
    """The nodes that the pod fits on: the one that a cycle gives it, then the others."""
    first, fitting = tries.placed(world), [info.name for info in tries.feasible(world)]
    return [by_name[name] for name in sorted(fitting, key=lambda name: name != first) if name in by_name]


def _labelled_for_terms(by_name: dict[str, Node]) -> Relaxation:
    """One label more, less or other makes one of the terms hold of a node."""

    def without(world: World) -> World:
        affinity = world.pod.spec.affinity
        left = None if affinity is None else msgspec.structs.replace(affinity, node_affinity=None)
        return _unspread(world.with_spec(affinity=left))

    def relabel(tries: Tries, world: World) -> Sequence[Change]:
        terms, tried = required_terms(world.pod), 0
        if world.others:
            nodes = [by_name[name] for name in tries.nodes(without(world))]
            return _relabelled_for_some_term(tries, world, terms, nodes)
        for node in _best_first(tries, without(world), by_name)[:MOST_LABELLED]:
            for term in terms.node_selector_terms if terms is not None else ():
                missing = _missing(term, node)
                label = _label_for(missing[0], node) if len(missing) == 1 else None
                if label is None or is_of_kubernetes(label[0]):
                    continue
                change, tried = _relabelled(node, *label), tried + 1
                if tries.placed(change.edit(world)):
                    return (change,)
                if tried == MOST_TRIED:
                    return ()
        return ()

    return Relaxation(frozenset({names.NODE_AFFINITY}), without, relabel)


def _relabelled_as_few(
    tries: Tries, world: World, nodes: Sequence[Node], key: str, value: str | None
) -> Sequence[Change]:
    kept = _as_few(tries, world, nodes, lambda node: _relabelled(node, key, value).edit)
    return _of_all(kept, lambda node: _relabelled(node, key, value))


def _relabelled_for_some_term(
    tries: Tries, world: World, terms: NodeSelector | None, nodes: Sequence[Node]
) -> Sequence[Change]:
    """The first term that holds of all nodes with one and the same label more, less or other."""
    for term in terms.node_selector_terms if terms is not None else ():
        lacking = [(node, missing) for node in nodes if (missing := _missing(term, node))]
        labels = {_label_for(missing[0], node) if len(missing) == 1 else None for node, missing in lacking}
        label = labels.pop() if len(labels) == 1 else None
        if label is None or is_of_kubernetes(label[0]):
            continue
        found = _relabelled_as_few(tries, world, [node for node, _ in lacking], *label)
        if found:
            return found
    return ()


def _missing(term: NodeSelectorTerm, node: Node) -> list[NodeSelectorRequirement]:
    """What the term asks that does not hold of the node; twice of what no label can do."""
    expressions = [
        each
        for each in term.match_expressions or ()
        if not parse_node_term(NodeSelectorTerm((each,))).matches(node.labels, "")
    ]
    fields = NodeSelectorTerm(None, term.match_fields)
    if term.match_fields and not parse_node_term(fields).matches(node.labels, node.name):
        return expressions * 2
    return expressions


def _label_for(asked: NodeSelectorRequirement, node: Node) -> tuple[str, str | None] | None:
    """The label, None for none, with which it holds; None where there is none such."""
    values = asked.values or ()
    match asked.operator:
        case "In" if values:
            return asked.key, values[0]
        case "Exists":
            return asked.key, "true"
        case "NotIn" | "DoesNotExist":
            return asked.key, None
        case "Gt" | "Lt" if len(values) == 1 and (bound := int64_of(values[0])) is not None:
            return asked.key, str(bound + (1 if asked.operator == "Gt" else -1))
    return None


def _relabelled(node: Node, key: str, value: str | None) -> Change:
    def edit(given: Node) -> Node:
        labels = {name: each for name, each in given.labels.items() if name != key}
        return labelled(given, labels if value is None else {**labels, key: value})

    return Change(
        Kind.RELABEL,
        f"metadata.labels.{key}",
        node.labels.get(key, ""),
        value or "",
        lambda world: world.with_node(node, edit),
        node=node.name,
    )


def additions(tries: Tries, world: World, infos: Sequence[NodeInfo]) -> Iterator[Change]:
    """A node like one that is there, without pods and cordon: the smallest shapes with which the pod fits."""
    found, most = 0, len(world.pods)
    for template in _shapes(world.pod, infos)[:MOST_SHAPES]:
        nodes = _like(template, {info.name for info in infos}, most)

        def is_enough(number: int, nodes: Sequence[Node] = nodes) -> bool:
            return bool(tries.placed(_added(nodes[:number])(world)))

        number = least(1, is_enough, most)
        if number is not None:
            names = [node.name for node in nodes[:number]]
            yield Change(
                Kind.ADD_NODE, "", "", template.name, _added(nodes[:number]), node=names[0], more=tuple(names[1:])
            )
            found += 1
            if found == _ENOUGH_SHAPES:
                return


def _added(nodes: Sequence[Node]) -> Edit:
    return lambda world: replace(world, added=(*world.added, *nodes))


def _shapes(pod: Pod, infos: Sequence[NodeInfo]) -> list[Node]:
    """One node of each shape that the pod asks for: those with enough cpu and memory for it, then the least of both."""
    required, found = required_node_affinity(pod), dict[object, Node]()
    requests = pod_requests(pod, use_status=False, use_pod_level=True)
    asked = [amount(name, requests[name]) if name in requests else 0 for name in (CPU, MEMORY)]
    for info in infos:
        node = info.node
        if node is None or not required.matches(node.labels, ""):
            continue
        given = node.status.allocatable or {}
        labels = tuple(sorted((key, value) for key, value in node.labels.items() if key != HOST))
        taints = tuple((taint.key, taint.value, taint.effect) for taint in node.taints)
        key = labels, taints, tuple(sorted((name, str(quantity)) for name, quantity in given.items()))
        found.setdefault(key, node)

    def size(node: Node) -> tuple[bool, list[int], str]:
        given = node.status.allocatable or {}
        there = [amount(name, given[name]) if name in given else 0 for name in (CPU, MEMORY)]
        return any(map(lt, there, asked)), there, node.name

    return sorted(found.values(), key=size)


def _like(template: Node, taken: set[str], most: int) -> list[Node]:
    """So many new ones, with names that nobody has."""
    free = (number for number in count(1) if f"{template.name}-new-{number}" not in taken)
    return [_new(template, number) for number in islice(free, most)]


def _new(template: Node, number: int) -> Node:
    name = f"{template.name}-new-{number}"
    labels = {**template.labels, HOST: name} if HOST in template.labels else dict(template.labels)
    metadata = msgspec.structs.replace(template.metadata, name=name, uid=f"{template.uid}-new-{number}", labels=labels)
    mark = (UNSCHEDULABLE_TAINT.key, UNSCHEDULABLE_TAINT.effect)
    taints = tuple(taint for taint in template.taints if (taint.key, taint.effect) != mark)
    spec = msgspec.structs.replace(template.spec, unschedulable=False, taints=taints or None)
    return msgspec.structs.replace(template, metadata=metadata, spec=spec)
