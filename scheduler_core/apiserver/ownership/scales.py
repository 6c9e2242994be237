"""Owners of an object seen from its Scale, and back: who owns the number of replicas.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.apiserver.ownership import sets
from scheduler_core.apiserver.ownership.managers import UPDATE, Manager, Owned, Owners
from scheduler_core.apiserver.ownership.sets import Path

REPLICAS: Final = ("f:spec", "f:replicas")
_SET: Final = sets.of_paths(REPLICAS)


def to_scale(owners: Owners, api_version: str, scale_version: str, path: Path = REPLICAS) -> Owners:
    """The owners of the object's replicas, which are at the path, as owners of the Scale's."""
    result: Owners = {}
    for manager, owned in owners.items():
        if owned.api_version == api_version and sets.has(owned.fields, path):
            version = scale_version if manager.operation == UPDATE else ""
            seen = Manager(manager.name, manager.operation, version, manager.subresource)
            result[seen] = Owned(_SET, scale_version, owned.time)
    return result


def from_scale(owners: Owners, of_scale: Owners, api_version: str, path: Path = REPLICAS) -> Owners:
    """The owners of the object after its Scale has got these.

    Who updates is another one in the Scale's version, so that it gets an entry of its own for the replicas, without a
    time.
    """
    result: Owners = {}
    own = sets.of_paths(path)
    others = dict(of_scale)
    for manager, owned in owners.items():
        if owned.api_version != api_version:
            continue
        if not sets.has(owned.fields, path):
            result[manager] = owned
        elif manager in others:
            result[manager] = owned
            del others[manager]
        else:
            left = sets.difference(owned.fields, own)
            if left:
                result[manager] = Owned(left, owned.api_version, owned.time)
    for manager, owned in others.items():
        if sets.has(owned.fields, REPLICAS):
            before = owners.get(manager)
            result[manager] = Owned(own, api_version, before.time if before else "")
    return result
