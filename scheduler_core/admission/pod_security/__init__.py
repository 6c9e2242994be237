"""Pod security standards: which pods a namespace with `pod-security.kubernetes.io` labels lets in, and warns of.

Source: kubernetes v1.34.1, staging/src/k8s.io/pod-security-admission.
"""

from scheduler_core.admission.pod_security.admitting import (
    admit_namespace,
    admit_namespace_change,
    admit_pod,
    admit_pod_change,
    warn_of_template,
)

__all__ = ["admit_namespace", "admit_namespace_change", "admit_pod", "admit_pod_change", "warn_of_template"]
