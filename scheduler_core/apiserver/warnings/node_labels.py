"""Labels of nodes that have a new name, where something selects nodes by them.

Source: kubernetes v1.34.1, pkg/api/node/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.api.syntax import label_value_problems

_DEPRECATED: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def message_of_label(key: str) -> str:
    """What to use instead of the label; empty for labels that are in use."""
    return _DEPRECATED.get(key, "")


def term_warnings(path: str, term: dict[str, Any], *, checks_values: bool = False) -> Iterator[str]:
    """Of a term of a node selector."""
    for index, one in enumerate(term.get("matchExpressions") or ()):
        message = message_of_label(one["key"])
        if message:
            yield f"{path}.matchExpressions[{index}].key: {one['key']} is {message}"
        for number, value in enumerate((one.get("values") or ()) if checks_values else ()):
            for problem in label_value_problems(value):
                yield f"{path}.matchExpressions[{index}].values[{number}]: {value} is invalid, {problem}"


def label_warnings(path: str, selector: dict[str, Any]) -> Iterator[str]:
    """Of a label selector that selects nodes."""
    yield from term_warnings(path, selector)
    for key in selector.get("matchLabels") or ():
        message = message_of_label(key)
        if message:
            yield f"{path}.matchLabels.{key}: {message}"
