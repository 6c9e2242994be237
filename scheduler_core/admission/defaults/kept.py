"""Defaults of kinds that scheduling does not read, by the fields of their types, in place.

Source: kubernetes v1.34.1, pkg/apis/{rbac,networking,autoscaling,admissionregistration,flowcontrol}/*/defaults.go and
staging/src/k8s.io/{kube-aggregator/pkg/apis/apiregistration,apiextensions-apiserver/pkg/apis/apiextensions}/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

from scheduler_core.admission.context import Manifest
from scheduler_core.api.schema import SCALARS, Type, type_named, type_of

_GROUP: Final = "rbac.authorization.k8s.io"
_HOOK: Final = {
    "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
    "timeoutSeconds": 10,
}  # fmt: skip
_CPU: Final = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
_SCALING_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}  # fmt: skip
_SCALING_DOWN: Final = {
    "selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}  # fmt: skip
# By type: what fields have that nobody has filled in.
_VALUES: Final[dict[str, dict[str, Any]]] = {
    "rbac.RoleRef": {"apiGroup": _GROUP},
    "networking.NetworkPolicyPort": {"protocol": "TCP"},
    "networking.IngressClassParametersReference": {"scope": "Cluster"},
    "autoscalingv2.HorizontalPodAutoscalerSpec": {
        "minReplicas": 1, "metrics": [{"type": "Resource", "resource": _CPU}],
    },
    "admissionregistration.MutatingWebhook": {**_HOOK, "reinvocationPolicy": "Never"},
    "admissionregistration.ValidatingWebhook": _HOOK,
    "admissionregistration.RuleWithOperations": {"scope": "*"},
    "admissionregistration.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.ServiceReference": {"port": 443},
    "admissionregistration.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.MatchResources": {
        "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
    },
    "flowcontrol.FlowSchemaSpec": {"matchingPrecedence": 1000},
    "flowcontrol.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
    "flowcontrol.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "flowcontrol.QueuingConfiguration": {"queues": 64, "handSize": 8, "queueLengthLimit": 50},
    "apiregistration.ServiceReference": {"port": 443},
    "apiextensions.ServiceReference": {"port": 443},
    "apiextensions.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
}  # fmt: skip


def default_kept(manifest: Manifest) -> None:
    """Fill in what the API server would; the manifest was read by the schema."""
    type_ = type_of(manifest["apiVersion"], manifest["kind"])
    for name, field in type_.fields.items():
        if name not in ("metadata", "status") and manifest.get(name) is not None:
            _below(manifest[name], field.shape)


def _below(value: Any, shape: str) -> None:
    if shape in SCALARS or shape.startswith("meta."):
        return
    if shape.startswith("[]"):
        for item in value:
            _below(item, shape[2:])
    elif not shape.startswith("{}"):
        _struct(value, type_named(shape))


def _struct(value: Manifest, type_: Type) -> None:
    rule = _RULES.get(type_.name)
    if rule is not None:
        rule(value)
    for name, default in _VALUES.get(type_.name, {}).items():
        found = value.get(name)
        if found is None or (found in ("", 0, []) and not type_.fields[name].is_pointer):
            value[name] = deepcopy(default)
    for name, field in type_.fields.items():
        if value.get(name) is not None:
            _below(value[name], field.shape)


def _subject(subject: Manifest) -> None:
    if not subject.get("apiGroup") and subject["kind"] in ("User", "Group"):
        subject["apiGroup"] = _GROUP


def _network_policy(spec: Manifest) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _behavior(behavior: Manifest) -> None:
    for name, values in (("scaleUp", _SCALING_UP), ("scaleDown", _SCALING_DOWN)):
        behavior[name] = {**deepcopy(values), **behavior.get(name, {})}


def _names(names: Manifest) -> None:
    if not names.get("singular") and names["kind"]:
        names["singular"] = names["kind"].lower()
    if not names.get("listKind") and names["kind"]:
        names["listKind"] = f"{names['kind']}List"


_RULES: Final[dict[str, Callable[[Manifest], None]]] = {
    "rbac.Subject": _subject,
    "networking.NetworkPolicySpec": _network_policy,
    "apiextensions.CustomResourceDefinitionNames": _names,
    "autoscalingv2.HorizontalPodAutoscalerBehavior": _behavior,
}
