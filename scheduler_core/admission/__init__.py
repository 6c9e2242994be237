"""What the API server does before an object is stored: defaults, admission, strategies, validation."""

from scheduler_core.admission.admit import (
    accept_existing,
    admit_create,
    admit_update,
    explain_unreadable,
    is_from_cluster,
)
from scheduler_core.admission.context import AdmissionContext

__all__ = [
    "AdmissionContext",
    "accept_existing",
    "admit_create",
    "admit_update",
    "explain_unreadable",
    "is_from_cluster",
]
