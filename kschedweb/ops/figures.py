"""What was asked of nodes and what there was, in sentences."""

from collections.abc import Mapping
from typing import Any

from kschedweb.ops.telling import number_of

Amounts = Mapping[str, Any]
_BYTES = ("memory", "ephemeral-storage")


def sentence(about: Amounts) -> str:
    """What was asked and what there was of one subject."""
    subject, node, pod = about["subject"], about["node"], about["pod"] or "another pod"
    is_one = about["nodes"] == 1
    nodes = number_of(about["nodes"], "node")
    named = node if is_one else f"{nodes} such as {node}"
    match about["kind"]:
        case "resource":
            return _lack(about)
        case "pods":
            return f"all places for pods are taken; {node} has {about['capacity']}"
        case "taint" | "cordon":
            return f"not tolerated: {subject}, on {named}"
        case "label":
            return f"wanted: {subject}; on {node if is_one else nodes}: {_values(about) or 'others'}"
        case "port" | "disk":
            return f"{subject} is taken on {'' if is_one else f'{nodes}; on '}{node} by {pod}"
        case "spread":
            fewest = f"the emptiest has {about['there']}, maxSkew is {about['asked']}"
            return f"{subject}: {fewest}; too full on {node if is_one else nodes}: {_values(about)}"
        case "near":
            return f"{subject}: {number_of(about['there'], 'such pod')} in all, none near {named}"
        case "apart" | "keptApart":
            return f"{subject}: {pod} stands against {node}{'' if is_one else f', one of {nodes}'}"
        case "limit":
            return f"asks {about['asked']} of {subject}, most left {about['there']} of {about['capacity']} on {node}"
        case "claim":
            return f"{subject} is used by {pod}"
        case "noKey":
            return f"no label {subject} on {named}"
        case "volume":
            return f"cannot be reached from {named}: {subject}"
    return f"{subject}: {named}"


def _lack(about: Amounts) -> str:
    """How much is asked of a resource, the most that is free, and of nodes that lack nothing else the nearest."""
    subject, asked, only = about["subject"], about["asked"], about["only"]
    text = f"asks {amount_text(subject, asked)}, most free {amount_text(subject, about['there'])} on {about['node']}"
    if not only:
        return text
    lack, nearest = amount_text(subject, asked - about["nearest"]), about["nearest_node"]
    if only == 1:
        return f"{text}; {nearest} lacks only {subject}, by {lack}"
    return f"{text}; {only:,} lack only {subject}, the nearest by {lack} ({nearest})"


def _values(about: Amounts) -> str:
    values = [f"{each['value']} ({each['count']:,})" for each in about["values"]]
    values += [number_of(about["others"], "more value")] if about["others"] else []
    return ", ".join(values + ([f"no such label ({about['without']:,})"] if about["without"] else []))


def amount_text(resource: str, value: int) -> str:
    """CPU in cores, or thousandths below one; bytes with a unit only where it divides them."""
    if resource == "cpu":
        return f"{value}m" if 0 < abs(value) < 1000 else str(value / 1000).removesuffix(".0")
    if resource in _BYTES or resource.startswith("hugepages-"):
        for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
            if value and value % size == 0:
                return f"{value // size:,}{unit}"
    return f"{value:,}"
