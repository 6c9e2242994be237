"""One object of every kind that is only kept, by kind: what stands beside apiVersion, kind and metadata."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
SUBJECTS = [{"kind": "User", "name": "ada"}, {"kind": "ServiceAccount", "namespace": "default", "name": "web"}]
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
HOOK = {
    "name": "check.otters.example",
    "clientConfig": {"service": {"namespace": "default", "name": "hook"}},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
}
# By kind, the cells of its row after the name; the age is left out where it stands last.
OBJECTS: dict[str, tuple[Manifest, list[Any]]] = {
    "Role": ({"rules": RULES}, ["2030-01-01T00:00:00Z"]),
    "ClusterRole": ({"rules": RULES, "aggregationRule": {"clusterRoleSelectors": [{}]}}, ["2030-01-01T00:00:00Z"]),
    "RoleBinding": (
        {"subjects": SUBJECTS, "roleRef": {"kind": "Role", "name": "reader"}},
        ["Role/reader", "0s", "ada", "", "default/web"],
    ),
    "ClusterRoleBinding": (
        {"subjects": [{"kind": "Group", "name": "crew"}], "roleRef": {"kind": "ClusterRole", "name": "all"}},
        ["ClusterRole/all", "0s", "", "crew", ""],
    ),
    "Ingress": (
        {
            "spec": {
                "ingressClassName": "fast",
                "rules": [
                    {"host": "a.example", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}}
                ],
                "tls": [{"hosts": ["a.example"]}],
            }
        },
        ["fast", "a.example", "", "80, 443", "0s"],
    ),
    "IngressClass": (
        {"spec": {"controller": "example.com/c", "parameters": {"kind": "Config", "name": "nest"}}},
        ["example.com/c", "Config/nest", "0s"],
    ),
    "NetworkPolicy": (
        {
            "spec": {
                "podSelector": {
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}],
                },
                "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80}]}],
            }
        },
        ["app=web,tier in (a,b)", "0s"],
    ),
    "IPAddress": (
        {"spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "web"}}},
        ["services/default/web", "0s"],
    ),
    "ServiceCIDR": ({"spec": {"cidrs": ["10.96.0.0/16"]}}, ["10.96.0.0/16", "0s"]),
    "HorizontalPodAutoscaler": (
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 9,
                "behavior": {},
            }
        },
        ["Deployment/web", "cpu: <unknown>/80%", "1", 9, 0, "0s"],
    ),
    "MutatingWebhookConfiguration": ({"webhooks": [HOOK]}, [1, "0s"]),
    "ValidatingWebhookConfiguration": ({"webhooks": [HOOK]}, [1, "0s"]),
    "ValidatingAdmissionPolicy": (
        {
            "spec": {
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {"resourceRules": [HOOK["rules"][0]]},
                "validations": [{"expression": "true"}],
            }
        },
        [1, "v1/ConfigMap", "0s"],
    ),
    "ValidatingAdmissionPolicyBinding": (
        {"spec": {"policyName": "p", "validationActions": ["Deny"], "paramRef": {"name": "nest"}}},
        ["p", "nest", "0s"],
    ),
    "CertificateSigningRequest": (
        {"spec": {"request": "bm8=", "signerName": "example.com/s", "usages": ["digital signature"]}},
        ["0s", "example.com/s", "", "<none>", "Pending"],
    ),
    "FlowSchema": (
        {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "distinguisherMethod": {"type": "ByUser"}}},
        ["exempt", 1000, "ByUser", "0s", "?"],
    ),
    "PriorityLevelConfiguration": (
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}},
        ["Limited", 30, 64, 8, 50, "0s"],
    ),
    "APIService": (
        {
            "spec": {
                "group": "otters.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 1,
                "service": {"namespace": "default", "name": "api"},
            }
        },
        ["default/api", "<unknown>", "0s"],
    ),
}  # fmt: skip
