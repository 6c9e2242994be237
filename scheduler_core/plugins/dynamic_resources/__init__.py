"""Resource claims of pods; see `plugin` for the rules, `claims` for which claims a pod has."""

from scheduler_core.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]
