"""What the API server refuses in an object, each problem with its path and, mostly, its words.

Looser than upstream where it does not matter to scheduling: images of containers are not required.
Source: kubernetes v1.34.1, pkg/apis/*/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from scheduler_core.admission.context import Manifest, Problem, duplicate, invalid, required, unsupported
from scheduler_core.admission.pod_validation import (
    label_selector_problems,
    labels_problems,
    pod_problems,
    pod_spec_problems,
    quantities_problems,
    selector_problem,
)
from scheduler_core.admission.priority import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES, SYSTEM_PREFIX
from scheduler_core.api.manifests import KINDS, convert
from scheduler_core.api.meta import KubeObject, LabelSelector
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import LimitRange, PodDisruptionBudget, PriorityClass, RuntimeClass
from scheduler_core.api.selectors import parse_label_selector, parse_node_selector, selects_map
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from scheduler_core.api.syntax import label_problem, label_value_problem, qualified_name_problem, subdomain_problem
from scheduler_core.api.workload import DaemonSet, Deployment, Job, PodTemplateSpec, ReplicaSet, StatefulSet

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate(manifest: Manifest, kind: str, *, is_update: bool = False) -> None:
    """Raise AdmissionError for the first problem of the manifest, ManifestError when it cannot be read."""
    problems = validation_problems(manifest, kind, is_update=is_update)
    if problems:
        raise problems[0].error()


def validation_problems(manifest: Manifest, kind: str, *, is_update: bool = False) -> list[Problem]:
    """All problems, metadata first."""
    obj = convert(manifest, KINDS[kind])
    problems = list(_metadata(obj))
    if isinstance(obj, Pod):
        problems += pod_problems(obj, is_update=is_update)
    else:
        check = _CHECKS.get(kind)
        problems += check(obj) if check is not None else ()
    return problems


def structural_problems(manifest: Manifest, kind: str) -> list[Problem]:
    """What even an object of a running cluster must satisfy: a proper name, no negative quantities."""
    obj = convert(manifest, KINDS[kind])
    problems = list(_names(obj))
    if isinstance(obj, Node):
        problems += quantities_problems("status.allocatable", obj.status.allocatable)
        problems += quantities_problems("status.capacity", obj.status.capacity)
    elif isinstance(obj, Pod):
        for field, containers in (
            ("containers", obj.spec.containers),
            ("initContainers", obj.spec.init_containers or ()),
        ):
            for index, container in enumerate(containers):
                path = f"spec.{field}[{index}].resources"
                problems += quantities_problems(f"{path}.requests", container.resources.requests)
                problems += quantities_problems(f"{path}.limits", container.resources.limits)
        problems += quantities_problems("spec.overhead", obj.spec.overhead)
    return problems


def _metadata(obj: KubeObject) -> Iterator[Problem]:
    yield from _names(obj)
    yield from labels_problems("metadata.labels", obj.metadata.labels)
    for key in obj.metadata.annotations or {}:
        problem = qualified_name_problem(key.lower())
        if problem is not None:
            yield invalid("metadata.annotations", key, problem)


def _names(obj: KubeObject) -> Iterator[Problem]:
    name, namespace = obj.metadata.name, obj.metadata.namespace
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        problem = label_problem(name) if obj.kind == "Namespace" else subdomain_problem(name)
        if problem is not None:
            yield invalid("metadata.name", name, problem)
    if not obj.namespaced:
        if namespace:
            yield invalid("metadata.namespace", namespace, "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        problem = label_problem(namespace)
        if problem is not None:
            yield invalid("metadata.namespace", namespace, problem)


def _node(node: Node) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(node.taints):
        path = f"spec.taints[{index}]"
        problem = qualified_name_problem(taint.key)
        if problem is not None:
            yield invalid(f"{path}.key", taint.key, problem)
        problem = label_value_problem(taint.value)
        if problem is not None:
            yield invalid(f"{path}.value", taint.value, problem)
        if not taint.effect:
            yield required(f"{path}.effect")
        elif taint.effect not in TAINT_EFFECTS:
            yield unsupported(f"{path}.effect", taint.effect, TAINT_EFFECTS)
        if (taint.key, taint.effect) in seen:
            yield duplicate(path, f"{taint.key}:{taint.effect}")
        seen.add((taint.key, taint.effect))
    yield from quantities_problems("status.capacity", node.status.capacity)
    yield from quantities_problems("status.allocatable", node.status.allocatable)


def _priority_class(one: PriorityClass) -> Iterator[Problem]:
    if one.name.startswith(SYSTEM_PREFIX):
        known = SYSTEM_CLASSES.get(one.name)
        if known is None or known.value != one.value:
            detail = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
            yield invalid("metadata.name", one.name, detail)
    elif one.value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        yield invalid("value", one.value, detail)
    policies = ("Never", "PreemptLowerPriority")
    if one.preemption_policy is not None and one.preemption_policy not in policies:
        yield unsupported("preemptionPolicy", one.preemption_policy, policies)


def _runtime_class(one: RuntimeClass) -> Iterator[Problem]:
    if not one.handler:
        yield required("handler")
    if one.overhead is not None:
        yield from quantities_problems("overhead.podFixed", one.overhead.pod_fixed)
    if one.scheduling is not None:
        yield from labels_problems("scheduling.nodeSelector", one.scheduling.node_selector)


def _limit_range(one: LimitRange) -> Iterator[Problem]:
    for index, item in enumerate(one.spec.limits or ()):
        path = f"spec.limits[{index}]"
        if not item.type:
            yield required(f"{path}.type")
        for field, values in (("min", item.min), ("max", item.max), ("default", item.default)):
            yield from quantities_problems(f"{path}.{field}", values)
        for name, least in (item.min or {}).items():
            most = (item.max or {}).get(name)
            if most is not None and least > most:
                yield invalid(f"{path}.min[{name}]", least, f"min value {least} is greater than max value {most}")


def _persistent_volume(volume: PersistentVolume) -> Iterator[Problem]:
    spec = volume.spec
    if not spec.access_modes:
        yield required("spec.accessModes")
    if not spec.capacity or "storage" not in spec.capacity:
        yield required("spec.capacity")
    for name, quantity in (spec.capacity or {}).items():
        if quantity.nano <= 0:
            yield invalid(f"spec.capacity[{name}]", quantity, "must be greater than zero")
    required_affinity = spec.node_affinity.required if spec.node_affinity is not None else None
    if required_affinity is not None:
        for error in parse_node_selector(required_affinity).errors:
            yield selector_problem("spec.nodeAffinity.required", error)


def _persistent_volume_claim(claim: PersistentVolumeClaim) -> Iterator[Problem]:
    spec = claim.spec
    if not spec.access_modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    storage = (spec.resources.requests or {}).get("storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif storage.nano <= 0:
        yield invalid("spec.resources[storage]", storage, "must be greater than zero")
    yield from label_selector_problems("spec.selector", spec.selector)


def _storage_class(one: StorageClass) -> Iterator[Problem]:
    if not one.provisioner:
        yield required("provisioner")
    modes = ("Immediate", "WaitForFirstConsumer")
    if one.volume_binding_mode is not None and one.volume_binding_mode not in modes:
        yield unsupported("volumeBindingMode", one.volume_binding_mode, modes)


def _disruption_budget(budget: PodDisruptionBudget) -> Iterator[Problem]:
    spec = budget.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        yield invalid("spec", budget.name, "minAvailable and maxUnavailable cannot be both set")
    for field, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if isinstance(value, str):
            digits = value.removesuffix("%")
            if not value.endswith("%") or not digits.isascii() or not digits.isdecimal():
                detail = "a valid percent string must be a numeric string followed by an ending '%'"
                yield invalid(f"spec.{field}", value, detail)
            elif int(digits[:9]) > 100:
                yield invalid(f"spec.{field}", value, "must not be greater than 100%")
        elif value is not None and value < 0:
            yield invalid(f"spec.{field}", value, "must be greater than or equal to 0")
    yield from label_selector_problems("spec.selector", spec.selector)


def _workload(obj: KubeObject) -> Iterator[Problem]:
    spec = cast("ReplicaSet | StatefulSet | Deployment | DaemonSet", obj).spec
    replicas = getattr(spec, "replicas", None)
    if replicas is not None and replicas < 0:
        yield invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    if spec.selector is None:
        yield required("spec.selector")
    elif not spec.selector.match_labels and not spec.selector.match_expressions:
        yield invalid("spec.selector", {}, "empty selector is invalid for deployment")
    else:
        yield from _template(spec.selector, spec.template)


def _job(job: Job) -> Iterator[Problem]:
    for field, value in (
        ("parallelism", job.spec.parallelism),
        ("completions", job.spec.completions),
        ("backoffLimit", job.spec.backoff_limit),
    ):
        if value is not None and value < 0:
            yield invalid(f"spec.{field}", value, "must be greater than or equal to 0")
    yield from _template(job.spec.selector, job.spec.template)


def _template(selector: LabelSelector | None, template: PodTemplateSpec | None) -> Iterator[Problem]:
    problems = list(label_selector_problems("spec.selector", selector))
    yield from problems
    if template is None:
        yield required("spec.template")
        return
    labels = template.metadata.labels or {}
    if selector is not None and not problems and not parse_label_selector(selector).matches(labels):
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from labels_problems("spec.template.metadata.labels", labels)
    yield from pod_spec_problems("spec.template.spec", template.spec)


def _replication_controller(obj: Any) -> Iterator[Problem]:
    spec = obj.spec
    if not spec.selector:
        yield required("spec.selector")
    elif spec.template is not None and not selects_map(spec.selector, spec.template.metadata.labels or {}):
        labels = spec.template.metadata.labels or {}
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if spec.replicas is not None and spec.replicas < 0:
        yield invalid("spec.replicas", spec.replicas, "must be greater than or equal to 0")


_CHECKS: Final[dict[str, Callable[[Any], Iterator[Problem]]]] = {
    "Node": _node,
    "PriorityClass": _priority_class,
    "RuntimeClass": _runtime_class,
    "LimitRange": _limit_range,
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": _persistent_volume_claim,
    "StorageClass": _storage_class,
    "PodDisruptionBudget": _disruption_budget,
    "ReplicaSet": _workload,
    "StatefulSet": _workload,
    "Deployment": _workload,
    "DaemonSet": _workload,
    "Job": _job,
    "ReplicationController": _replication_controller,
}
