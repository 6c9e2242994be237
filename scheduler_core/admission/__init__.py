"""What the API server does before an object is stored: defaults, admission, validation."""

from scheduler_core.admission.admit import accept_existing, admit_create, admit_update, is_from_cluster
from scheduler_core.admission.context import AdmissionContext
from scheduler_core.admission.validation import validate

__all__ = ["AdmissionContext", "accept_existing", "admit_create", "admit_update", "is_from_cluster", "validate"]
