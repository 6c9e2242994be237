"""Where the standards apply: pods are refused or warned of, templates and existing pods warned of.

Source: kubernetes v1.34.1, staging/src/k8s.io/pod-security-admission/admission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest, refuse, refused
from scheduler_core.admission.pod_security.checks import violations
from scheduler_core.admission.pod_security.policy import PRIVILEGED, Policy, Standard, policy_of

_MOST_CHECKED: Final = 3_000  # existing pods that are checked when a namespace becomes stricter
_TEMPLATE_KINDS: Final = frozenset(
    {"ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "PodTemplate"}
)


def admit_pod(pod: Manifest, context: AdmissionContext) -> None:
    """Refuse, or warn of, what the standards of the pod's namespace forbid."""
    policy = _policy(pod, context)
    if policy.asks_nothing:
        return
    metadata, spec = pod["metadata"], pod["spec"]
    found = violations(metadata, spec, policy.enforce)
    if found:
        raise refused("", f'violates PodSecurity "{policy.enforce}": {", ".join(map(str, found))}')
    _warn(metadata, spec, policy.warn, context)


def admit_pod_change(pod: Manifest, old: Manifest, context: AdmissionContext) -> None:
    """The same for a change that lets other images run."""
    if _images(pod) != _images(old):
        admit_pod(pod, context)


def warn_of_template(workload: Manifest, kind: str, context: AdmissionContext) -> None:
    """Warn of what the namespace would forbid in the pods of a workload; it is never refused for that."""
    if kind not in _TEMPLATE_KINDS:
        return
    policy = _policy(workload, context)
    if policy.warn.level == PRIVILEGED:
        return
    holder = workload if kind == "PodTemplate" else workload["spec"]
    template = (holder["jobTemplate"]["spec"] if kind == "CronJob" else holder).get("template")
    if template:
        _warn(template.get("metadata") or {}, template["spec"], policy.warn, context)


def admit_namespace(namespace: Manifest) -> None:
    """Refuse labels that cannot be read."""
    refuse(policy_of(namespace["metadata"].get("labels")).problems)


def admit_namespace_change(namespace: Manifest, old: Manifest, context: AdmissionContext) -> None:
    """Refuse labels that cannot be read, and warn of pods that a stricter standard would forbid."""
    policy, before = policy_of(namespace["metadata"].get("labels")), policy_of(old["metadata"].get("labels"))
    if policy.problems != before.problems:
        refuse(policy.problems)
    enforce, former = policy.enforce, before.enforce
    if enforce in (former, Standard(PRIVILEGED, enforce.minor)):
        return
    if enforce.minor == former.minor and enforce.strictness <= former.strictness:
        return
    name = namespace["metadata"]["name"]
    for text in _of_existing(name, enforce, context.pods_in(name)):
        context.warn(text)


def _policy(manifest: Manifest, context: AdmissionContext) -> Policy:
    return policy_of(context.namespace_labels.get(manifest["metadata"].get("namespace", "")))


def _warn(metadata: Manifest, spec: Manifest, standard: Standard, context: AdmissionContext) -> None:
    found = violations(metadata, spec, standard)
    if found:
        context.warn(f'would violate PodSecurity "{standard}": {", ".join(map(str, found))}')


def _images(pod: Manifest) -> list[list[tuple[str, str]]]:
    """The images by which a change is told; ephemeral containers are known by their names."""
    spec = pod["spec"]
    lists = [
        [("", one.get("image", "")) for one in spec.get(field) or ()] for field in ("containers", "initContainers")
    ]
    return [*lists, sorted((one["name"], one.get("image", "")) for one in spec.get("ephemeralContainers") or ())]


def _of_existing(name: str, standard: Standard, pods: Sequence[Manifest]) -> Iterator[str]:
    """Warnings for pods in the namespace: one for each list of reasons, with the first pod that has it."""
    ordered = _one_of_each_owner_first(pods)
    holders: dict[str, list[str]] = {}
    for pod in ordered[:_MOST_CHECKED]:
        found = violations(pod["metadata"], pod["spec"], standard)
        if found:
            holders.setdefault(", ".join(one.reason for one in found), []).append(pod["metadata"]["name"])
    if len(ordered) > _MOST_CHECKED:
        counts = f"first {_MOST_CHECKED} of {len(ordered)} existing pods"
        yield f"new PodSecurity enforce level only checked against the {counts}"
    if holders:
        yield f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{standard}"'
    yield from sorted(f"{_first_of(names)}: {reasons}" for reasons, names in holders.items())


def _first_of(names: Sequence[str]) -> str:
    others = len(names) - 1
    return min(names) + (f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else "")


def _one_of_each_owner_first(pods: Sequence[Manifest]) -> list[Manifest]:
    first: list[Manifest] = []
    rest: list[Manifest] = []
    owners: set[str] = set()
    for pod in pods:
        owner = next((one["uid"] for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), "")
        (rest if owner in owners else first).append(pod)
        if owner:
            owners.add(owner)
    return [*first, *rest]
