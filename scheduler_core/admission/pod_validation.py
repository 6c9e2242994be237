"""What the API server refuses in a pod: containers, resources, ports, gates, and all that steers its placement.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scheduler_core.admission.context import Problem, duplicate, forbidden, invalid, required, unsupported
from scheduler_core.api.affinity import NodeSelector, PodAffinityTerm, Toleration, TopologySpreadConstraint
from scheduler_core.api.meta import LabelSelector, ResourceList
from scheduler_core.api.pod import Container, ContainerPort, Pod, PodSpec, ResourceRequirements
from scheduler_core.api.resources import is_extended, is_hugepages, is_pod_level
from scheduler_core.api.selectors import SelectorError, parse_label_selector, parse_node_selector, parse_node_term
from scheduler_core.api.syntax import label_problem, label_value_problem, port_name_problem, qualified_name_problem

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES: Final = ("Never", "PreemptLowerPriority")
UNSATISFIABLE_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
INCLUSION_POLICIES: Final = ("Honor", "Ignore")
GATED_NODE_NAME: Final = "cannot be set until all schedulingGates have been cleared"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_problems(pod: Pod, *, is_update: bool = False) -> Iterator[Problem]:
    yield from pod_spec_problems("spec", pod.spec)
    if pod.spec.scheduling_gates and pod.spec.node_name and not is_update:
        yield forbidden("spec.nodeName", GATED_NODE_NAME)


def pod_spec_problems(path: str, spec: PodSpec) -> Iterator[Problem]:
    """The rules pods and pod templates share."""
    if not spec.containers:
        yield required(f"{path}.containers")
    yield from _containers(path, spec)
    if spec.resources is not None:
        yield from _pod_level_resources(f"{path}.resources", spec.resources)
    yield from quantities_problems(f"{path}.overhead", spec.overhead)
    if spec.restart_policy and spec.restart_policy not in RESTART_POLICIES:
        yield unsupported(f"{path}.restartPolicy", spec.restart_policy, RESTART_POLICIES)
    if spec.preemption_policy is not None and spec.preemption_policy not in PREEMPTION_POLICIES:
        yield unsupported(f"{path}.preemptionPolicy", spec.preemption_policy, PREEMPTION_POLICIES)
    names = [(f"{path}.volumes[{index}].name", volume.name) for index, volume in enumerate(spec.volumes or ())]
    yield from _unique_names(names)
    names = [(f"{path}.resourceClaims[{index}].name", one.name) for index, one in enumerate(spec.resource_claims or ())]
    yield from _unique_names(names)
    yield from _gates(path, spec)
    yield from labels_problems(f"{path}.nodeSelector", spec.node_selector)
    yield from _affinity(f"{path}.affinity", spec)
    for index, toleration in enumerate(spec.tolerations or ()):
        yield from _toleration(f"{path}.tolerations[{index}]", toleration)
    yield from _spread(f"{path}.topologySpreadConstraints", spec.topology_spread_constraints or ())


def labels_problems(path: str, labels: Mapping[str, str] | None) -> Iterator[Problem]:
    for key, value in (labels or {}).items():
        problem = qualified_name_problem(key)
        if problem is not None:
            yield invalid(path, key, problem)
        problem = label_value_problem(value)
        if problem is not None:
            yield invalid(path, value, problem)


def label_selector_problems(path: str, selector: LabelSelector | None) -> Iterator[Problem]:
    try:
        parse_label_selector(selector)
    except SelectorError as error:
        yield Problem(path, str(error))


def selector_problem(path: str, error: str) -> Problem:
    """The error of a node selector term, which names the place below `path` itself."""
    place, _, detail = error.partition(": ")
    return Problem(f"{path}.{place}", detail)


def quantities_problems(path: str, quantities: ResourceList | None) -> Iterator[Problem]:
    """Names that are none, and numbers below zero."""
    for name, quantity in (quantities or {}).items():
        problem = qualified_name_problem(name)
        if problem is not None:
            yield invalid(f"{path}[{name}]", name, problem)
        if quantity.nano < 0:
            yield invalid(f"{path}[{name}]", quantity, _NOT_NEGATIVE)


def _containers(path: str, spec: PodSpec) -> Iterator[Problem]:
    seen: set[str] = set()
    held: set[tuple[str, str, int]] = set()
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers or ())):
        for index, container in enumerate(containers):
            at = f"{path}.{field}[{index}]"
            yield from _name(f"{at}.name", container.name, seen)
            yield from _ports(f"{at}.ports", container.ports or ())
            yield from _resources(f"{at}.resources", container.resources)
            if field == "containers":
                yield from _held_ports(f"{at}.ports", container, held)
            elif container.restart_policy not in (None, "Always"):
                yield unsupported(f"{at}.restartPolicy", container.restart_policy or "", ("Always",))


def _name(path: str, name: str, seen: set[str]) -> Iterator[Problem]:
    if not name:
        yield required(path)
        return
    problem = label_problem(name)
    if problem is not None:
        yield invalid(path, name, problem)
    if name in seen:
        yield duplicate(path, name)
    seen.add(name)


def _unique_names(names: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, name in names:
        yield from _name(path, name, seen)


def _ports(path: str, ports: tuple[ContainerPort, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.name:
            problem = port_name_problem(port.name)
            if problem is not None:
                yield invalid(f"{at}.name", port.name, problem)
            if port.name in seen:
                yield duplicate(f"{at}.name", port.name)
            seen.add(port.name)
        if port.container_port == 0:
            yield required(f"{at}.containerPort")
        for field, number in (("containerPort", port.container_port), ("hostPort", port.host_port)):
            if number != 0 and not 1 <= number <= 65535:
                yield invalid(f"{at}.{field}", number, "must be between 1 and 65535, inclusive")
        if port.protocol and port.protocol not in PROTOCOLS:
            yield unsupported(f"{at}.protocol", port.protocol, PROTOCOLS)


def _held_ports(path: str, container: Container, held: set[tuple[str, str, int]]) -> Iterator[Problem]:
    """One pod cannot hold a host port twice."""
    for index, port in enumerate(container.ports or ()):
        if port.host_port == 0:
            continue
        triple = (port.protocol or "TCP", port.host_ip, port.host_port)
        if triple in held:
            yield duplicate(f"{path}[{index}].hostPort", "/".join(map(str, triple)))
        held.add(triple)


def _resources(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    requests, limits = resources.requests or {}, resources.limits or {}
    yield from quantities_problems(f"{path}.limits", limits)
    yield from quantities_problems(f"{path}.requests", requests)
    for field, values in (("limits", limits), ("requests", requests)):
        for name, quantity in values.items():
            if is_extended(name) and quantity.nano % 10**9:
                yield invalid(f"{path}.{field}[{name}]", quantity, "must be an integer")
    for name, request in requests.items():
        limit = limits.get(name)
        countable = is_extended(name) or is_hugepages(name)
        if limit is not None and countable and request != limit:
            yield invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}")
        elif limit is not None and request > limit:
            yield invalid(f"{path}.requests", request, f"must be less than or equal to {name} limit of {limit}")
        elif limit is None and countable:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")


def _pod_level_resources(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    for field, values in (("requests", resources.requests or {}), ("limits", resources.limits or {})):
        yield from quantities_problems(f"{path}.{field}", values)
        for name in values:
            if not is_pod_level(name):
                yield unsupported(f"{path}.{field}[{name}]", name, ("cpu", "hugepages-", "memory"))
    for name, request in (resources.requests or {}).items():
        limit = (resources.limits or {}).get(name)
        if limit is not None and request > limit:
            yield invalid(f"{path}.requests[{name}]", request, f"must be less than or equal to {name} limit of {limit}")


def _gates(path: str, spec: PodSpec) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, gate in enumerate(spec.scheduling_gates or ()):
        at = f"{path}.schedulingGates[{index}]"
        problem = qualified_name_problem(gate.name)
        if problem is not None:
            yield invalid(at, gate.name, problem)
        if gate.name in seen:
            yield duplicate(at, gate.name)
        seen.add(gate.name)


def _affinity(path: str, spec: PodSpec) -> Iterator[Problem]:
    affinity = spec.affinity
    if affinity is None:
        return
    if affinity.node_affinity is not None:
        at = f"{path}.nodeAffinity"
        selector = affinity.node_affinity.required_during_scheduling_ignored_during_execution
        if selector is not None:
            yield from _node_selector(f"{at}.{_REQUIRED}", selector)
        for index, preferred in enumerate(
            affinity.node_affinity.preferred_during_scheduling_ignored_during_execution or ()
        ):
            yield from _weight(f"{at}.{_PREFERRED}[{index}].weight", preferred.weight)
            for error in parse_node_term(preferred.preference).errors:
                yield selector_problem(f"{at}.{_PREFERRED}[{index}].preference", error)
    for part, stanza in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if stanza is None:
            continue
        for index, term in enumerate(stanza.required_during_scheduling_ignored_during_execution or ()):
            yield from _pod_affinity_term(f"{path}.{part}.{_REQUIRED}[{index}]", term)
        for index, weighted in enumerate(stanza.preferred_during_scheduling_ignored_during_execution or ()):
            at = f"{path}.{part}.{_PREFERRED}[{index}]"
            yield from _weight(f"{at}.weight", weighted.weight)
            yield from _pod_affinity_term(f"{at}.podAffinityTerm", weighted.pod_affinity_term)


def _node_selector(path: str, selector: NodeSelector) -> Iterator[Problem]:
    if not selector.node_selector_terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for error in parse_node_selector(selector).errors:
        yield selector_problem(path, error)


def _weight(path: str, weight: int) -> Iterator[Problem]:
    if not 1 <= weight <= 100:
        yield invalid(path, weight, "must be in the range 1-100")


def _pod_affinity_term(path: str, term: PodAffinityTerm) -> Iterator[Problem]:
    if not term.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    else:
        problem = qualified_name_problem(term.topology_key)
        if problem is not None:
            yield invalid(f"{path}.topologyKey", term.topology_key, problem)
    yield from label_selector_problems(f"{path}.labelSelector", term.label_selector)
    yield from label_selector_problems(f"{path}.namespaceSelector", term.namespace_selector)
    for index, namespace in enumerate(term.namespaces or ()):
        problem = label_problem(namespace)
        if problem is not None:
            yield invalid(f"{path}.namespaces[{index}]", namespace, problem)


def _toleration(path: str, toleration: Toleration) -> Iterator[Problem]:
    if toleration.key:
        problem = qualified_name_problem(toleration.key)
        if problem is not None:
            yield invalid(f"{path}.key", toleration.key, problem)
    elif toleration.operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", toleration.operator, detail)
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", toleration.effect, detail)
    if toleration.operator in ("", "Equal"):
        problem = label_value_problem(toleration.value)
        if problem is not None:
            yield invalid(f"{path}.value", toleration.value, problem)
    elif toleration.operator == "Exists":
        if toleration.value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", toleration.operator, detail)
    else:
        yield unsupported(f"{path}.operator", toleration.operator, ("Equal", "Exists"))
    if toleration.effect and toleration.effect not in TAINT_EFFECTS:
        yield unsupported(f"{path}.effect", toleration.effect, TAINT_EFFECTS)


def _spread(path: str, constraints: tuple[TopologySpreadConstraint, ...]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        if constraint.max_skew <= 0:
            yield invalid(f"{at}.maxSkew", constraint.max_skew, "must be greater than zero")
        if not constraint.topology_key:
            yield required(f"{at}.topologyKey", "can not be empty")
        else:
            problem = qualified_name_problem(constraint.topology_key)
            if problem is not None:
                yield invalid(f"{at}.topologyKey", constraint.topology_key, problem)
        if constraint.when_unsatisfiable not in UNSATISFIABLE_ACTIONS:
            yield unsupported(f"{at}.whenUnsatisfiable", constraint.when_unsatisfiable, UNSATISFIABLE_ACTIONS)
        if constraint.min_domains is not None:
            if constraint.min_domains <= 0:
                yield invalid(f"{at}.minDomains", constraint.min_domains, "must be greater than zero")
            if constraint.when_unsatisfiable != "DoNotSchedule":
                detail = (
                    f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {constraint.when_unsatisfiable}"
                )
                yield invalid(f"{at}.minDomains", constraint.min_domains, detail)
        for field, policy in (
            ("nodeAffinityPolicy", constraint.node_affinity_policy),
            ("nodeTaintsPolicy", constraint.node_taints_policy),
        ):
            if policy is not None and policy not in INCLUSION_POLICIES:
                yield unsupported(f"{at}.{field}", policy, INCLUSION_POLICIES)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)
        yield from label_selector_problems(f"{at}.labelSelector", constraint.label_selector)
