"""Versions and kinds of scheduler configurations: those there are, and what is said of others.

What changed between versions, and where fields and plugins of former ones went, is told beside a refusal. Facts about
versions before v1 are of the guide to configurations of Kubernetes, since no source of 1.34 has them any more.

Source: kubernetes v1.34.1, pkg/scheduler/apis/config/scheme/scheme.go, staging/src/k8s.io/kube-scheduler/config/v1
(register.go, types.go: decodeNestedObjects).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.config import names
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.config.types import API_VERSION, KIND

GROUP: Final = "kubescheduler.config.k8s.io"
# Taken as another name for v1 by earlier releases: texts that are stored may say so.
FORMERLY_TAKEN: Final = f"{GROUP}/v1beta3"
_SCHEME: Final = 'scheme "pkg/scheduler/apis/config/scheme/scheme.go:30"'
_KINDS: Final = frozenset({KIND, *(f"{name}Args" for name in ARGS_TYPES)})

_REMOVED: Final = f"{', '.join(names.REMOVED_IN_V1[:-1])} and {names.REMOVED_IN_V1[-1]}"
# By the version that brought them, the newest first.
_CHANGES: Final[Mapping[str, tuple[str, ...]]] = {
    "v1": (
        "SelectorSpread is gone; PodTopologySpread, on by default, spreads pods",
        f"{_REMOVED} are gone; NodeVolumeLimits counts the volumes of all drivers",
        "a profile may have a percentageOfNodesToScore of its own",
    ),
    "v1beta3": (
        "weights by default: InterPodAffinity 2, NodeAffinity 2, TaintToleration 3; each was 1",
        "multiPoint enables a plugin at all its extension points",
        "healthzBindAddress and metricsBindAddress are gone",
    ),
    "v1beta2": (
        "NodeResourcesLeastAllocated, NodeResourcesMostAllocated and RequestedToCapacityRatio are gone: "
        "NodeResourcesFit has them as scoringStrategy",
        "NodeLabel, ServiceAffinity and NodePreferAvoidPods are gone: NodeAffinity, InterPodAffinity and taints "
        "serve instead",
    ),
    "v1beta1": (
        "reserve also undoes what was reserved; unreserve is gone",
        "bindTimeoutSeconds is in the args of VolumeBinding",
    ),
    "v1alpha2": ("profiles with plugins stand in the place of algorithmSource and of a Policy",),
    "v1alpha1": (),
}

FORMER_FIELDS: Final[Mapping[str, str]] = {
    "algorithmSource": "plugins in profiles[].plugins",
    "bindTimeoutSeconds": "bindTimeoutSeconds in the args of VolumeBinding",
    "disablePreemption": "DefaultPreemption disabled in profiles[].plugins.postFilter",
    "hardPodAffinitySymmetricWeight": "hardPodAffinityWeight in the args of InterPodAffinity",
    "healthzBindAddress": "nothing: gone since v1beta3",
    "metricsBindAddress": "nothing: gone since v1beta3",
    "schedulerName": "schedulerName in profiles[]",
    "unreserve": "reserve, whose plugins also undo what they reserved",
}
"""Fields of former versions, and what is expected now."""

_SCORING: Final = "NodeResourcesFit with scoringStrategy.type {} in its args"
FORMER_PLUGINS: Final[Mapping[str, str]] = {
    "NodeResourcesLeastAllocated": _SCORING.format("LeastAllocated"),
    "NodeResourcesMostAllocated": _SCORING.format("MostAllocated"),
    "RequestedToCapacityRatio": _SCORING.format("RequestedToCapacityRatio"),
    "NodeLabel": "NodeAffinity",
    "ServiceAffinity": "InterPodAffinity",
    "NodePreferAvoidPods": "taints on the nodes",
    "SelectorSpread": "PodTopologySpread",
}
"""Plugins of former versions, and what is expected now."""


def is_registered(api_version: str, kind: str) -> bool:
    """Whether there is such a kind in such a version."""
    return api_version == API_VERSION and kind in _KINDS


def unregistered(api_version: str, kind: str) -> str:
    """What is said of a kind or version that there is not."""
    return f'no kind "{kind}" is registered for version "{api_version}" in {_SCHEME}'


def since(api_version: str) -> str:
    """What to write instead of another version and, when that is a former one, what changed from it, a line each."""
    group, _, version = api_version.rpartition("/")
    write = f"Write apiVersion: {API_VERSION}"
    if group != GROUP or version not in _CHANGES:
        return write
    newer = [*_CHANGES][: [*_CHANGES].index(version)]
    facts = [f"- {fact}" for each in newer for fact in _CHANGES[each]]
    return "\n".join([write, f"What changed from {version} to v1:", *facts])


def instead_of(kind: str, document: Mapping[str, Any]) -> str:
    """What to give in the place of a document of another kind, where that is known."""
    if kind == "Policy":
        return "Policies are gone since Kubernetes 1.23: predicates and priorities are plugins of a profile now."
    data = document.get("data")
    if kind == "ConfigMap" and isinstance(data, dict):
        for name, text in data.items():
            if isinstance(text, str) and KIND in text:
                return f"The configuration is the text of data[{name}]: give it without the ConfigMap around it."
    return ""
