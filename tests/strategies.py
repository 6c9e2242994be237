"""Hypothesis strategies shared by the tests: quantities, labels, selectors, pods and nodes as manifests.

They stay within what the API server accepts; small alphabets make matches and collisions likely.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.builders import make_node, make_pod

Manifest = dict[str, Any]
T = TypeVar("T")

LABEL_KEYS = ("app", "tier", "zone", "disk", "example.com/rank")
LABEL_VALUES = ("", "a", "b", "c", "1", "7", "10")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
CPU_TEXTS = ("0", "50m", "100m", "250m", "0.5", "1", "1500m", "3")
MEMORY_TEXTS = ("0", "64Mi", "100M", "200Mi", "1Gi", "1.5Gi", "3000000k")

_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e0")

label_keys = st.sampled_from(LABEL_KEYS)
label_values = st.sampled_from(LABEL_VALUES)
label_maps = st.dictionaries(label_keys, label_values, max_size=4)


@st.composite
def quantity_texts(draw: st.DrawFn, *, negative: bool = True) -> str:
    """Any text the grammar of quantities allows, far beyond what people write."""
    sign = draw(st.sampled_from(("", "+", "-") if negative else ("", "+")))
    whole = draw(st.text("0123456789", max_size=21))
    fraction = draw(st.none() | st.text("0123456789", min_size=0 if whole else 1, max_size=12))
    if not whole and fraction is None:
        whole = "0"
    number = whole if fraction is None else f"{whole}.{fraction}"
    return sign + number + draw(st.sampled_from(_SUFFIXES))


@st.composite
def label_requirements(draw: st.DrawFn, *, node: bool = False) -> Manifest:
    """A valid requirement of a label selector, or of a node selector."""
    operators = ["In", "NotIn", "Exists", "DoesNotExist"] + (["Gt", "Lt"] if node else [])
    operator = draw(st.sampled_from(operators))
    requirement: Manifest = {"key": draw(label_keys), "operator": operator}
    if operator in ("In", "NotIn"):
        requirement["values"] = draw(st.lists(label_values, min_size=1, max_size=3))
    elif operator in ("Gt", "Lt"):
        requirement["values"] = [str(draw(st.integers(0, 12)))]
    return requirement


@st.composite
def label_selectors(draw: st.DrawFn) -> Manifest:
    return {
        "matchLabels": draw(st.dictionaries(label_keys, label_values, max_size=2)),
        "matchExpressions": draw(st.lists(label_requirements(), max_size=2)),
    }


@st.composite
def node_selector_terms(draw: st.DrawFn, *, node_names: tuple[str, ...] = ("n0", "n1", "n2")) -> Manifest:
    fields = st.fixed_dictionaries(
        {
            "key": st.just("metadata.name"),
            "operator": st.sampled_from(("In", "NotIn")),
            "values": st.sampled_from(node_names).map(lambda name: [name]),
        }
    )
    return {
        "matchExpressions": draw(st.lists(label_requirements(node=True), max_size=2)),
        "matchFields": draw(st.lists(fields, max_size=1)),
    }


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a pod or node is put together from, some of each sort, drawn once.

    A manifest is then a handful of draws among these: drawing every label and requirement anew took so long that on a
    busy machine Hypothesis gave up before the first example.
    """

    labels: tuple[dict[str, str], ...]
    requests: tuple[tuple[dict[str, str], ...], ...]
    init_containers: tuple[tuple[tuple[dict[str, str], bool], ...], ...]
    host_ports: tuple[tuple[int, str] | None, ...]
    node_selectors: tuple[dict[str, str], ...]
    node_affinity: tuple[tuple[tuple[Manifest, ...], tuple[tuple[int, Manifest], ...]], ...]
    tolerations: tuple[tuple[Manifest, ...], ...]
    capacities: tuple[dict[str, str], ...]
    taints: tuple[tuple[Manifest, ...], ...]


_SORTS = 48  # of each part; the first one is always the simplest, to which failing examples shrink


def _made_parts() -> _Parts:
    dice = random.Random(1)

    def some(make: Callable[[], T], simplest: T) -> tuple[T, ...]:
        return (simplest, *(make() for _ in range(_SORTS - 1)))

    def labels(most: int) -> dict[str, str]:
        keys = dice.sample(LABEL_KEYS, dice.randint(0, most))
        return {key: dice.choice(LABEL_VALUES) for key in keys}

    def requests() -> dict[str, str]:
        given = {"cpu": dice.choice(CPU_TEXTS), "memory": dice.choice(MEMORY_TEXTS)}
        given["example.com/gpu"] = dice.choice(("0", "1", "2"))
        return {name: text for name, text in given.items() if dice.random() < 0.6}

    def requirement() -> Manifest:
        operator = dice.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        found: Manifest = {"key": dice.choice(LABEL_KEYS), "operator": operator}
        if operator in ("In", "NotIn"):
            found["values"] = dice.choices(LABEL_VALUES, k=dice.randint(1, 3))
        elif operator in ("Gt", "Lt"):
            found["values"] = [str(dice.randint(0, 12))]
        return found

    def term() -> Manifest:
        field = {"key": "metadata.name", "operator": dice.choice(("In", "NotIn")), "values": [f"n{dice.randrange(3)}"]}
        return {
            "matchExpressions": [requirement() for _ in range(dice.randint(0, 2))],
            "matchFields": [field] if dice.random() < 0.4 else [],
        }

    def toleration() -> Manifest:
        operator = dice.choice(("", "Equal", "Exists"))
        found: Manifest = {"operator": operator, "effect": dice.choice(("", *TAINT_EFFECTS))}
        found["key"] = dice.choice(LABEL_KEYS) if operator != "Exists" or dice.random() < 0.7 else ""
        if operator != "Exists":
            found["value"] = dice.choice(LABEL_VALUES)
        return {name: value for name, value in found.items() if value}

    def taint() -> Manifest:
        key, value = dice.choice(LABEL_KEYS), dice.choice(LABEL_VALUES)
        return {"key": key, "value": value, "effect": dice.choice(TAINT_EFFECTS)}

    def capacity() -> dict[str, str]:
        given = {"cpu": dice.choice(CPU_TEXTS), "memory": dice.choice(MEMORY_TEXTS)}
        given["pods"] = dice.choice(("0", "3", "110"))
        return given | ({"example.com/gpu": dice.choice(("1", "4"))} if dice.random() < 0.5 else {})

    def several(make: Callable[[], T], least: int, most: int) -> tuple[T, ...]:
        return tuple(make() for _ in range(dice.randint(least, most)))

    return _Parts(
        labels=some(lambda: labels(4), {}),
        requests=some(lambda: several(requests, 1, 3), ({},)),
        init_containers=some(lambda: several(lambda: (requests(), dice.random() < 0.5), 0, 3), ()),
        host_ports=some(
            lambda: (dice.randint(8000, 8003), dice.choice(("TCP", "UDP"))) if dice.random() < 0.5 else None, None
        ),
        node_selectors=some(lambda: labels(1), {}),
        node_affinity=some(
            lambda: (several(term, 0, 2), several(lambda: (dice.randint(1, 100), term()), 0, 2)), ((), ())
        ),
        tolerations=some(lambda: several(toleration, 0, 3), ()),
        capacities=some(capacity, {}),
        taints=some(lambda: several(taint, 0, 2), ()),
    )


_PARTS = _made_parts()
_PODS = st.tuples(
    st.sampled_from(_PARTS.labels),
    st.integers(-5, 5),
    st.sampled_from(_PARTS.requests),
    st.sampled_from(_PARTS.init_containers),
    st.sampled_from(_PARTS.host_ports),
    st.sampled_from(_PARTS.node_selectors),
    st.sampled_from(_PARTS.node_affinity),
    st.sampled_from(_PARTS.tolerations),
)
_NODES = st.tuples(
    st.sampled_from(_PARTS.labels),
    st.sampled_from(_PARTS.capacities),
    st.sampled_from(_PARTS.taints),
    st.booleans(),
)


def pod_manifests(*, name: str = "pod") -> st.SearchStrategy[Manifest]:
    """A pod of the default scheduler with containers, sidecars, ports, tolerations and node affinity."""
    return _PODS.map(lambda drawn: _pod(name, *drawn))


def node_manifests(*, name: str = "node") -> st.SearchStrategy[Manifest]:
    """A node with labels, taints and some free or scarce resources."""
    return _NODES.map(lambda drawn: _node(name, *drawn))


# manifest() copies: what was drawn is shared by all examples.


def _pod(
    name: str,
    labels: dict[str, str],
    priority: int,
    containers: Sequence[dict[str, str]],
    init_containers: Sequence[tuple[dict[str, str], bool]],
    port: tuple[int, str] | None,
    node_selector: dict[str, str],
    affinity: tuple[Sequence[Manifest], Sequence[tuple[int, Manifest]]],
    tolerations: Sequence[Manifest],
) -> Manifest:
    pod = make_pod(name).label(labels).priority(priority).node_selector(node_selector)
    for requests in containers:
        pod.container(requests)
    for requests, sidecar in init_containers:
        pod.init_container(requests, sidecar=sidecar)
    if port is not None:
        pod.host_port(port[0], protocol=port[1])
    required, preferred = affinity
    if required:
        pod.required_node_affinity(*required)
    for weight, term in preferred:
        pod.preferred_node_affinity(weight, term)
    return pod.spec(tolerations=list(tolerations)).manifest()


def _node(
    name: str, labels: dict[str, str], capacity: dict[str, str], taints: Sequence[Manifest], unschedulable: bool
) -> Manifest:
    node = make_node(name).label(labels).capacity(capacity)
    return node.spec(taints=list(taints), unschedulable=unschedulable).manifest()
