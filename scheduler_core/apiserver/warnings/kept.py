"""What clients are told of kinds that are kept here, and that nothing here acts by."""

from __future__ import annotations

from typing import Final

_RIGHTS: Final = "kept, and grants nothing: who may do what in this cluster is said by the roles of the service"
_HOOKS: Final = "kept, and never called: requests to this cluster are admitted without webhooks"
_POLICIES: Final = "kept, and not evaluated: requests to this cluster are admitted without it"
_FLOWS: Final = "kept, and without effect: requests to this cluster are not queued by it"

NOT_ACTED_BY: Final = {
    "Role": _RIGHTS,
    "RoleBinding": _RIGHTS,
    "ClusterRole": _RIGHTS,
    "ClusterRoleBinding": _RIGHTS,
    "MutatingWebhookConfiguration": _HOOKS,
    "ValidatingWebhookConfiguration": _HOOKS,
    "ValidatingAdmissionPolicy": _POLICIES,
    "ValidatingAdmissionPolicyBinding": _POLICIES,
    "CertificateSigningRequest": "kept, and signed by nobody in this cluster",
    "FlowSchema": _FLOWS,
    "PriorityLevelConfiguration": _FLOWS,
    "APIService": "kept, and nothing is forwarded by it: this cluster serves its own groups alone",
}
