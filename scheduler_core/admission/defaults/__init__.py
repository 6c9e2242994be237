"""What the API server fills in before anything looks at an object; again whenever it reads one, so twice is as once."""

from scheduler_core.admission.defaults.kinds import default, default_status
from scheduler_core.admission.defaults.pods import merge_label_keys

__all__ = ["default", "default_status", "merge_label_keys"]
