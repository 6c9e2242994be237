"""Hypothesis strategies shared by the tests: quantities, labels, selectors, pods and nodes as manifests.

They stay within what the API server accepts; small alphabets make matches and collisions likely.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.builders import make_node, make_pod

Manifest = dict[str, Any]

LABEL_KEYS = ("app", "tier", "zone", "disk", "example.com/rank")
LABEL_VALUES = ("", "a", "b", "c", "1", "7", "10")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

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


taints = st.fixed_dictionaries({"key": label_keys, "value": label_values, "effect": st.sampled_from(TAINT_EFFECTS)})


@st.composite
def tolerations(draw: st.DrawFn) -> Manifest:
    operator = draw(st.sampled_from(("", "Equal", "Exists")))
    key = draw(label_keys if operator != "Exists" else st.just("") | label_keys)
    toleration: Manifest = {"key": key, "operator": operator, "effect": draw(st.sampled_from(("", *TAINT_EFFECTS)))}
    if operator != "Exists":
        toleration["value"] = draw(label_values)
    return {name: value for name, value in toleration.items() if value}


cpu_texts = st.sampled_from(("0", "50m", "100m", "250m", "0.5", "1", "1500m", "3"))
memory_texts = st.sampled_from(("0", "64Mi", "100M", "200Mi", "1Gi", "1.5Gi", "3000000k"))
request_lists = st.fixed_dictionaries(
    {}, optional={"cpu": cpu_texts, "memory": memory_texts, "example.com/gpu": st.sampled_from(("0", "1", "2"))}
)


@st.composite
def pod_manifests(draw: st.DrawFn, *, name: str = "pod") -> Manifest:
    """A pod of the default scheduler with containers, sidecars, ports, tolerations and node affinity."""
    pod = make_pod(name).label(draw(label_maps)).priority(draw(st.integers(-5, 5)))
    for requests in draw(st.lists(request_lists, min_size=1, max_size=3)):
        pod.container(requests)
    for requests, sidecar in draw(st.lists(st.tuples(request_lists, st.booleans()), max_size=3)):
        pod.init_container(requests, sidecar=sidecar)
    if draw(st.booleans()):
        pod.host_port(draw(st.integers(8000, 8003)), protocol=draw(st.sampled_from(("TCP", "UDP"))))
    pod.node_selector(draw(st.dictionaries(label_keys, label_values, max_size=1)))
    terms = draw(st.lists(node_selector_terms(), max_size=2))
    if terms:
        pod.required_node_affinity(*terms)
    for weight in draw(st.lists(st.integers(1, 100), max_size=2)):
        pod.preferred_node_affinity(weight, draw(node_selector_terms()))
    return {**(manifest := pod.manifest()), "spec": {**manifest["spec"], "tolerations": draw(st.lists(tolerations()))}}


@st.composite
def node_manifests(draw: st.DrawFn, *, name: str = "node") -> Manifest:
    """A node with labels, taints, images and some free or scarce resources."""
    node = make_node(name).label(draw(label_maps))
    node.capacity(cpu=draw(cpu_texts), memory=draw(memory_texts), pods=draw(st.sampled_from(("0", "3", "110"))))
    if draw(st.booleans()):
        node.capacity({"example.com/gpu": draw(st.sampled_from(("1", "4")))})
    node.spec(taints=draw(st.lists(taints, max_size=2)), unschedulable=draw(st.booleans()))
    return node.manifest()
