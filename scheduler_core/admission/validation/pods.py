"""What is checked of pods and pod templates as a whole, and of what steers their placement.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.amounts import container_resource_name, pod_level_problems, resource_problems
from scheduler_core.admission.validation.containers import PodView, container_problems, padded_image_problems
from scheduler_core.admission.validation.formats import MAX_INT32, named, one_of
from scheduler_core.admission.validation.pod_annotations import pod_annotation_problems, profile_match_problems
from scheduler_core.admission.validation.security import host_users_problems, pod_security_problems
from scheduler_core.admission.validation.volumes import volume_problems
from scheduler_core.admission.validation.windows import host_process_problems, os_problems
from scheduler_core.api.schema import internal_text

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION: Final = ("Honor", "Ignore")
_ACCOUNT_TOKEN: Final = "must not be specified when serviceAccountName is not set"


def pod_problems(pod: Manifest, *, is_new: bool) -> Iterator[Problem]:
    """Of a pod but for its metadata."""
    spec = pod["spec"]
    yield from pod_annotation_problems("metadata.annotations", pod["metadata"].get("annotations") or {}, spec)
    yield from pod_spec_problems("spec", spec, pod["metadata"].get("name", ""))
    if not spec.get("serviceAccountName"):
        for index, volume in enumerate(spec.get("volumes", ())):
            for number, source in enumerate(volume.get("projected", {}).get("sources") or ()):
                if "serviceAccountToken" in source:
                    at = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                    yield forbidden(at, _ACCOUNT_TOKEN)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield from padded_image_problems(f"spec.{field}[{index}]", container)
    if is_new:
        if spec.get("ephemeralContainers"):
            yield forbidden("spec.ephemeralContainers", "cannot be set on create")
        if spec.get("nodeName") and spec.get("schedulingGates"):
            yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
        yield from profile_match_problems("spec", spec, pod["metadata"].get("annotations") or {})


def pod_spec_problems(path: str, spec: Manifest, pod_name: str = "", *, is_pod: bool = True) -> Iterator[Problem]:
    """The rules pods and pod templates share; `pod_name` is empty for a template."""
    volumes, problems = volume_problems(f"{path}.volumes", spec.get("volumes", ()), pod_name)
    yield from problems
    claims = spec.get("resourceClaims", ())
    yield from _claims(f"{path}.resourceClaims", claims)
    view = PodView(spec, volumes, frozenset(claim["name"] for claim in claims if claim["name"]))
    yield from container_problems(path, view)
    yield from pod_level_problems(f"{path}.resources", spec, view.claims)
    yield from _host_network(path, spec, is_pod=is_pod)
    restart = spec.get("restartPolicy")
    yield from one_of(f"{path}.restartPolicy", restart, ("Always", "OnFailure", "Never"))
    yield from one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    yield from formats.labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    yield from pod_security_problems(path, spec)
    for index, secret in enumerate(spec.get("imagePullSecrets", ())):
        if secret.keys() - {"name"}:
            yield invalid(f"{path}.imagePullSecrets[{index}]", secret, "only name may be set")
    yield from _affinity(f"{path}.affinity", spec.get("affinity", {}))
    yield from _dns(f"{path}.dnsConfig", spec)
    for index, gate in enumerate(spec.get("readinessGates", ())):
        name = gate["conditionType"]
        yield from named(f"{path}.readinessGates[{index}].conditionType", name, formats.qualified(name))
    yield from _gates(f"{path}.schedulingGates", spec.get("schedulingGates", ()))
    yield from _spread(f"{path}.topologySpreadConstraints", spec.get("topologySpreadConstraints", ()))
    yield from host_process_problems(path, spec)
    yield from host_users_problems(path, spec)
    yield from _names(path, spec)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {MAX_INT32}, inclusive")
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            yield from named(f"{path}.{field}", spec[field], formats.label(spec[field]))
    yield from toleration_problems(f"{path}.tolerations", spec.get("tolerations", ()))
    for index, alias in enumerate(spec.get("hostAliases", ())):
        yield from named(f"{path}.hostAliases[{index}].ip", alias["ip"], formats.ip_address(alias["ip"]))
        for number, host in enumerate(alias.get("hostnames", ())):
            yield from named(f"{path}.hostAliases[{index}].hostnames[{number}]", host, formats.subdomain(host))
    for field in ("priorityClassName", "runtimeClassName"):
        if spec.get(field):
            yield from named(f"{path}.{field}", spec[field], formats.subdomain(spec[field]))
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        yield from one_of(f"{path}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    overhead = {"limits": spec.get("overhead", {})}
    yield from resource_problems(f"{path}.overhead", overhead, container_resource_name, frozenset())
    yield from os_problems(path, spec)


def _names(path: str, spec: Manifest) -> Iterator[Problem]:
    account, node = spec.get("serviceAccountName"), spec.get("nodeName")
    if account:
        yield from named(f"{path}.serviceAccountName", account, formats.subdomain(account))
    if node:
        yield from named(f"{path}.nodeName", node, formats.subdomain(node))


def _claims(path: str, claims: Any) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim["name"]
        if not name:
            yield required(f"{at}.name")
        elif name in seen:
            yield duplicate(f"{at}.name", name)
        else:
            yield from named(f"{at}.name", name, formats.label(name))
        seen.add(name)
        sources = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        shown = Shown(internal_text(claim, "core.PodResourceClaim"))
        if len(sources) == 2:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield invalid(at, shown, detail)
        elif not sources:
            yield invalid(at, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for field in sources:
            yield from named(f"{at}.{field}", claim[field], formats.subdomain(claim[field]))


def _host_network(path: str, spec: Manifest, *, is_pod: bool) -> Iterator[Problem]:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports", ())):
            host = port.get("hostPort", 0)
            if (is_pod or host) and host != port["containerPort"]:
                detail = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}.containers[{index}].ports[{number}].hostPort", host, detail)


def _dns(path: str, spec: Manifest) -> Iterator[Problem]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    servers, searches = config.get("nameservers", []), config.get("searches", [])
    if len(servers) > 3:
        yield invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        yield from named(f"{path}.nameservers[{index}]", server, formats.ip_address(server))
    if len(searches) > 32:
        yield invalid(f"{path}.searches", searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid(f"{path}.searches", searches, detail)
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            yield from named(f"{path}.searches[{index}]", name, formats.subdomain_with_underscore(name))
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def _gates(path: str, gates: Any) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        yield from named(f"{path}[{index}]", gate["name"], formats.qualified(gate["name"]))
        if gate["name"] in seen:
            yield duplicate(f"{path}[{index}]", gate["name"])
        seen.add(gate["name"])


def _affinity(path: str, affinity: Manifest) -> Iterator[Problem]:
    node = affinity.get("nodeAffinity", {})
    if _REQUIRED in node:
        yield from node_selector_problems(f"{path}.nodeAffinity.{_REQUIRED}", node[_REQUIRED])
    for index, preferred in enumerate(node.get(_PREFERRED, ())):
        at = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        if not 1 <= preferred["weight"] <= 100:
            yield invalid(f"{at}.weight", preferred["weight"], "must be in the range 1-100")
        yield from node_term_problems(f"{at}.preference", preferred["preference"], any_values=True)
    for part in ("podAffinity", "podAntiAffinity"):
        stanza = affinity.get(part, {})
        for index, term in enumerate(stanza.get(_REQUIRED, ())):
            yield from _pod_term(f"{path}.{part}.{_REQUIRED}[{index}]", term)
        for index, weighted in enumerate(stanza.get(_PREFERRED, ())):
            at = f"{path}.{part}.{_PREFERRED}[{index}]"
            if not 1 <= weighted["weight"] <= 100:
                yield invalid(f"{at}.weight", weighted["weight"], "must be in the range 1-100")
            yield from _pod_term(f"{at}.podAffinityTerm", weighted["podAffinityTerm"])


def node_selector_problems(path: str, selector: Manifest) -> Iterator[Problem]:
    terms = selector["nodeSelectorTerms"]
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms or ()):
        yield from node_term_problems(f"{path}.nodeSelectorTerms[{index}]", term)


def node_term_problems(path: str, term: Manifest, *, any_values: bool = False) -> Iterator[Problem]:
    """`any_values`: values need not be fit for labels, which is warned of."""
    for index, one in enumerate(term.get("matchExpressions", ())):
        yield from _node_expression(f"{path}.matchExpressions[{index}]", one, any_values=any_values)
    for index, one in enumerate(term.get("matchFields", ())):
        at, values = f"{path}.matchFields[{index}]", one.get("values", ())
        if one["operator"] in ("In", "NotIn"):
            if len(values) != 1:
                detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
                yield required(f"{at}.values", detail)
        else:
            yield invalid(f"{at}.operator", one["operator"], "not a valid selector operator")
        if one["key"] != "metadata.name":
            yield invalid(f"{at}.key", one["key"], "not a valid field selector key")
        else:
            for number, value in enumerate(values):
                yield from named(f"{at}.values[{number}]", value, formats.subdomain(value))


def _node_expression(path: str, one: Manifest, *, any_values: bool) -> Iterator[Problem]:
    values, operator = one.get("values", ()), one["operator"]
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from named(f"{path}.key", one["key"], formats.qualified(one["key"]))
    for number, value in enumerate(() if any_values else values):
        yield from named(f"{path}.values[{number}]", value, formats.label_value(value))


def _pod_term(path: str, term: Manifest) -> Iterator[Problem]:
    yield from formats.label_selector(f"{path}.labelSelector", term.get("labelSelector"))
    yield from formats.label_selector(f"{path}.namespaceSelector", term.get("namespaceSelector"))
    for namespace in term.get("namespaces", ()):
        yield from named(f"{path}.namespace", namespace, formats.label(namespace))
    yield from _label_keys(path, term)
    if not term["topologyKey"]:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from named(f"{path}.topologyKey", term["topologyKey"], formats.qualified(term["topologyKey"]))


def _label_keys(path: str, holder: Manifest) -> Iterator[Problem]:
    """Keys by which a selector is extended with the pod's own labels, which admission has done before."""
    match, mismatch = holder.get("matchLabelKeys", []), holder.get("mismatchLabelKeys", [])
    selector = holder.get("labelSelector")
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            yield forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            yield from named(f"{path}.{field}[{index}]", key, formats.qualified(key))
    seen = set((selector or {}).get("matchLabels", ()))
    for expression in (selector or {}).get("matchExpressions", ()):
        key = expression["key"]
        if key in match and key in seen:
            yield invalid(f"{path}[{match.index(key)}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for index, key in enumerate(match):
        if key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def toleration_problems(path: str, tolerations: Any) -> Iterator[Problem]:
    for index, one in enumerate(tolerations):
        at = f"{path}[{index}]"
        key, operator, value = one.get("key", ""), one.get("operator", ""), one.get("value", "")
        effect = one.get("effect", "")
        if key:
            yield from named(f"{at}.key", key, formats.qualified(key))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{at}.operator", operator, detail)
        if "tolerationSeconds" in one and effect != "NoExecute":
            yield invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator in ("", "Equal"):
            problems = formats.label_value(value)
            if problems:
                yield invalid(f"{at}.operator", value, ";".join(problems))
        elif operator == "Exists":
            if value:
                yield invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
        else:
            yield unsupported(f"{at}.operator", operator, ("Equal", "Exists"))
        if effect and effect not in TAINT_EFFECTS:
            yield unsupported(f"{at}.effect", effect, TAINT_EFFECTS)


def _spread(path: str, constraints: list[Manifest]) -> Iterator[Problem]:
    for index, one in enumerate(constraints):
        at, action = f"{path}[{index}]", one["whenUnsatisfiable"]
        if one["maxSkew"] <= 0:
            yield invalid(f"{at}.maxSkew", one["maxSkew"], "must be greater than zero")
        key = one["topologyKey"]
        if not key:
            yield required(f"{at}.topologyKey", "can not be empty")
        if action not in _UNSATISFIABLE:
            yield unsupported(f"{at}.whenUnsatisfiable", action, _UNSATISFIABLE)
        if any((key, action) == (each["topologyKey"], each["whenUnsatisfiable"]) for each in constraints[index + 1 :]):
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        least = one.get("minDomains")
        if least is not None:
            if least <= 0:
                yield invalid(f"{at}.minDomains", least, "must be greater than zero")
            if action != "DoNotSchedule":
                detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                yield invalid(f"{at}.minDomains", least, detail)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if field in one and one[field] not in _INCLUSION:
                yield unsupported(f"{at}.{field}", one[field], _INCLUSION)
        yield from _label_keys(at, one)
        yield from formats.label_selector(f"{at}.labelSelector", one.get("labelSelector"))
