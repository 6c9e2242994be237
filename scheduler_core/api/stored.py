"""Kinds for other programs: configuration, addresses behind services, revisions. Little but their metadata is typed.

Source: kubernetes v1.34.1, staging/src/k8s.io/api/{core,discovery,apps}/v1/types.go.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler_core.api.meta import Int64, KubeObject


class ConfigMap(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ConfigMap"
    plural: ClassVar[str] = "configmaps"

    data: dict[str, str] | None = None


class Secret(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Secret"
    plural: ClassVar[str] = "secrets"


class ServiceAccount(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ServiceAccount"
    plural: ClassVar[str] = "serviceaccounts"


class Endpoints(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Endpoints"
    plural: ClassVar[str] = "endpoints"


class EndpointSlice(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "discovery.k8s.io/v1"
    kind: ClassVar[str] = "EndpointSlice"
    plural: ClassVar[str] = "endpointslices"


class ControllerRevision(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ControllerRevision"
    plural: ClassVar[str] = "controllerrevisions"

    data: dict[str, Any] | None = None
    revision: Int64 = 0
