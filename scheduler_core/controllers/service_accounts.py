"""Gives every namespace its default ServiceAccount and the ConfigMap with the certificate of the API server.

Programs wait for both in a new namespace. A text stands in place of the certificate, because nothing runs here that
would read it; one that was imported stays, one that was emptied is written again.

Source: kubernetes v1.34.1, pkg/controller/serviceaccount/serviceaccounts_controller.go and
pkg/controller/certificates/rootcacertpublisher.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.api.stored import ConfigMap, ServiceAccount
from scheduler_core.api.workload import Namespace
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

# What each namespace has: the kind and the name.
NAMES: Final = {ServiceAccount.kind: "default", ConfigMap.kind: "kube-root-ca.crt"}
_GIVEN: Final = (ServiceAccount, ConfigMap)
DATA: Final = {"ca.crt": "# No certificate: nothing runs in a simulated cluster.\n"}


class ServiceAccounts:
    """The namespaces of one cluster and what they have already."""

    name, actor, group = "service-accounts", "service-accounts", "namespaces"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._namespaces: set[str] = set()  # those that are not being deleted
        self._present: set[tuple[str, str]] = set()  # (kind, namespace)

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what is missing now where something changed."""
        touched: dict[str, None] = {}
        emptied: dict[str, ConfigMap] = {}
        for change in changes:
            if isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, Namespace):
                    touched[obj.name] = None
                    is_going = obj.metadata.deletion_timestamp is not None or obj.status.phase == "Terminating"
                    (self._namespaces.discard if is_going else self._namespaces.add)(obj.name)
                elif isinstance(obj, _GIVEN) and NAMES[obj.kind] == obj.name:
                    self._present.add((obj.kind, obj.namespace))
                    if isinstance(obj, ConfigMap):
                        emptied.pop(obj.namespace, None)
                        if not (obj.data or {}).get("ca.crt"):
                            emptied[obj.namespace] = obj
            elif isinstance(change, ObjectDeleted):
                if change.kind == Namespace.kind:
                    self._namespaces.discard(change.name)
                elif NAMES.get(change.kind) == change.name:
                    self._present.discard((change.kind, change.namespace))
                    if change.kind == ConfigMap.kind:
                        emptied.pop(change.namespace, None)
                    touched[change.namespace] = None
        restored: list[Request] = [
            Patch(ObjectKey(one.kind, one.namespace, one.name), {"data": DATA}, uid=one.uid)
            for one in emptied.values()
            if one.namespace in self._namespaces
        ]
        return [*(request for namespace in touched for request in self._missing(namespace)), *restored]

    def next_due(self) -> None:
        """Nothing is due without a change."""

    def _missing(self, namespace: str) -> list[Request]:
        if namespace not in self._namespaces:
            return []
        return [Create(_object(kind, namespace)) for kind in NAMES if (kind, namespace) not in self._present]


def _object(kind: str, namespace: str) -> dict[str, object]:
    data = {"data": DATA} if kind == ConfigMap.kind else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": NAMES[kind], "namespace": namespace}, **data}
