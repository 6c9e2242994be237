"""Kinds that are kept and shown but steer no scheduling: events, leases, quotas. Little but their metadata is typed.

Source: kubernetes v1.34.1, staging/src/k8s.io/api/{core,coordination}/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from scheduler_core.api.meta import KubeObject, Time, Value


class EventSeries(Value, frozen=True):
    last_observed_time: Time | None = None


class Event(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Event"
    plural: ClassVar[str] = "events"

    last_timestamp: Time | None = None
    series: EventSeries | None = None

    @property
    def last_written(self) -> datetime | None:
        """When it was created, or counted last."""
        counted = None if self.series is None else self.series.last_observed_time
        times = (self.metadata.creation_timestamp, self.last_timestamp, counted)
        return max((time for time in times if time is not None), default=None)


class LeaseSpec(Value, frozen=True):
    renew_time: str | None = None


class Lease(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "coordination.k8s.io/v1"
    kind: ClassVar[str] = "Lease"
    plural: ClassVar[str] = "leases"

    spec: LeaseSpec = LeaseSpec()


class ResourceQuotaSpec(Value, frozen=True):
    hard: dict[str, str] | None = None
    scopes: tuple[str, ...] | None = None
    scope_selector: Any = None


class ResourceQuota(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ResourceQuota"
    plural: ClassVar[str] = "resourcequotas"

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
