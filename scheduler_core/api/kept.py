"""Kinds that scheduling does not read: they are kept for other programs, and little but their metadata is typed.

Their fields are in `schema/kept.txt`. Source: kubernetes v1.34.1, pkg/registry and staging/src/k8s.io/kube-aggregator.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from scheduler_core.api.meta import KubeObject, Value

# A version, then kinds with their plurals; `-` before a kind: it has no namespace.
_ROWS: Final = """
rbac.authorization.k8s.io/v1 Role=roles RoleBinding=rolebindings -ClusterRole=clusterroles
rbac.authorization.k8s.io/v1 -ClusterRoleBinding=clusterrolebindings
networking.k8s.io/v1 Ingress=ingresses -IngressClass=ingressclasses NetworkPolicy=networkpolicies
networking.k8s.io/v1 -IPAddress=ipaddresses -ServiceCIDR=servicecidrs
autoscaling/v2 HorizontalPodAutoscaler=horizontalpodautoscalers
admissionregistration.k8s.io/v1 -MutatingWebhookConfiguration=mutatingwebhookconfigurations
admissionregistration.k8s.io/v1 -ValidatingWebhookConfiguration=validatingwebhookconfigurations
admissionregistration.k8s.io/v1 -ValidatingAdmissionPolicy=validatingadmissionpolicies
admissionregistration.k8s.io/v1 -ValidatingAdmissionPolicyBinding=validatingadmissionpolicybindings
certificates.k8s.io/v1 -CertificateSigningRequest=certificatesigningrequests
flowcontrol.apiserver.k8s.io/v1 -FlowSchema=flowschemas -PriorityLevelConfiguration=prioritylevelconfigurations
apiregistration.k8s.io/v1 -APIService=apiservices
"""


def _classes() -> dict[str, type[KubeObject]]:
    found = {}
    for line in _ROWS.strip().splitlines():
        version, *kinds = line.split()
        for each in kinds:
            name, _, plural = each.removeprefix("-").partition("=")
            facts = {"api_version": version, "kind": name, "plural": plural, "namespaced": not each.startswith("-")}
            made = msgspec.defstruct(
                name, [], bases=(KubeObject,), namespace=facts, module=__name__, frozen=True, kw_only=True
            )
            found[name] = cast(type[KubeObject], made)
    return found


class DefinitionNames(Value, frozen=True):
    """What a kind that a cluster defines is called."""

    plural: str = ""
    kind: str = ""


class DefinitionSpec(Value, frozen=True):
    """What is read of the definition of a kind."""

    group: str = ""
    names: DefinitionNames = DefinitionNames()


class CustomResourceDefinition(KubeObject, frozen=True, kw_only=True):
    """The definition of a kind."""

    api_version = "apiextensions.k8s.io/v1"
    kind = "CustomResourceDefinition"
    plural = "customresourcedefinitions"
    namespaced = False

    spec: DefinitionSpec = DefinitionSpec()


KEPT: Final[dict[str, type[KubeObject]]] = _classes() | {CustomResourceDefinition.kind: CustomResourceDefinition}
