"""Priority classes: which number a pod gets, and which classes may exist.

Source: kubernetes v1.34.1, plugin/pkg/admission/priority; scheduling/v1 validation.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest, refused
from scheduler_core.api.meta import ObjectMeta
from scheduler_core.api.policy import PriorityClass

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_PREFIX: Final = "system-"
PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"

SYSTEM_CLASSES: Final = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}


def admit_priority(pod: Manifest, context: AdmissionContext) -> None:
    """Fill in priorityClassName, priority and preemptionPolicy; a different number given by hand is refused."""
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    if name:
        chosen = context.priority_classes.get(name) or SYSTEM_CLASSES.get(name)
        if chosen is None:
            raise refused("spec.priorityClassName", f"no PriorityClass with name {name} was found")
    else:
        chosen = default_class(context)
        if chosen is not None:
            spec["priorityClassName"] = chosen.name
    priority = chosen.value if chosen is not None else 0
    policy = (chosen.preemption_policy if chosen is not None else None) or PREEMPT_LOWER_PRIORITY
    given = spec.get("priority")
    if given is not None and given != priority:
        raise refused(
            "spec.priority",
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {priority} from the given PriorityClass name",
        )
    given_policy = spec.get("preemptionPolicy")
    if given_policy is not None and given_policy != policy:
        raise refused(
            "spec.preemptionPolicy",
            f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec; priority "
            f"admission controller computed {policy} from the given PriorityClass name",
        )
    spec["priority"] = priority
    spec["preemptionPolicy"] = policy


def default_class(context: AdmissionContext) -> PriorityClass | None:
    """The global default; of several the one with the lowest value."""
    candidates = [one for _, one in sorted(context.priority_classes.items()) if one.global_default]
    return min(candidates, key=lambda one: one.value, default=None)


def admit_priority_class(manifest: Manifest, context: AdmissionContext) -> None:
    """At most one class is the global default."""
    if not manifest.get("globalDefault"):
        return
    name = manifest["metadata"].get("name")
    for other, existing in sorted(context.priority_classes.items()):
        if existing.global_default and other != name:
            raise refused(
                "globalDefault",
                f"PriorityClass {other} is already marked as default. Only one default can exist",
            )
