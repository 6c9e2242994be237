"""What waits in vain where no controller acts: for an object, for a pod with what it refers to, for a whole cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from django.db.models import BinaryField
from django.db.models.functions import Cast

from kschedweb import views
from kschedweb.cluster.choices import TERMINAL_PHASES, LifecycleMode
from kschedweb.cluster.models import ApiObject, Node, Pod
from kschedweb.cluster.related import Related, Stored
from kschedweb.common.packing import decompressed, unpacked
from kschedweb.views import view_of
from scheduler_core.explain.in_vain import REMEDY, RULES, InVain, Waiting, grouped, waiting, waiting_for_pod

Manifest = Mapping[str, Any]
ROWS = 500  # of objects held at once
LOOKED_AT = 20_000  # pending pods, the newest: what they ask for stands in their manifests alone, which are packed
# What the JSON of a pod has whose claims somebody has to make.
_ASKS = (b'"ephemeral"', b'"resourceClaims"')


class Settings(Protocol):
    """What of a cluster says who acts in it."""

    @property
    def lifecycle_mode(self) -> str: ...
    @property
    def is_mirror(self) -> bool: ...
    @property
    def is_record(self) -> bool: ...


def is_frozen(cluster: Settings) -> bool:
    """Whether only its scheduler acts. Controllers act where a mirror is from, and in a history nobody does."""
    return cluster.lifecycle_mode == LifecycleMode.FROZEN and not cluster.is_mirror and not cluster.is_record


def of_object(manifest: Manifest, related: Related, *, frozen: bool) -> list[views.InVain]:
    """What the object waits for; nothing unless the cluster is frozen."""
    return _views(waiting(manifest, related)) if frozen else []


def of_pod(manifest: Manifest, related: Related, *, frozen: bool) -> list[views.InVain]:
    """The same of a pod and of what it refers to."""
    return _views(waiting_for_pod(manifest, related)) if frozen else []


def of_cluster(cluster_id: int) -> list[InVain]:
    """All that waits in a frozen cluster; claims that nobody makes, of the newest pending pods."""
    return grouped(_all(cluster_id))


def notes(found: Iterable[InVain]) -> list[str]:
    """A sentence about each, then what ends the waiting."""
    said = [f"Waits in vain: {one.message}." for one in found]
    return [*said, f"{REMEDY}."] if said else []


def _views(found: Iterable[Waiting]) -> list[views.InVain]:
    return [view_of(views.InVain, one) for one in grouped(found)]


def _all(cluster_id: int) -> Iterator[Waiting]:
    objects = _AtOnce(cluster_id)
    rows = ApiObject.objects.filter(cluster_id=cluster_id, kind__in=RULES)
    for manifest in rows.values_list("manifest", flat=True).iterator(chunk_size=ROWS):
        yield from waiting(manifest, objects)
    nodes = Node.objects.filter(cluster_id=cluster_id, manifest__spec__has_key="taints")
    for manifest in nodes.values_list("manifest", flat=True).iterator(chunk_size=ROWS):
        yield from waiting(manifest, objects)
    pods = Pod.objects.filter(cluster_id=cluster_id)
    leaving = pods.filter(deletion_timestamp__isnull=False)
    for manifest in leaving.values_list("manifest", flat=True).iterator(chunk_size=ROWS):
        yield from waiting(manifest, objects)
    pending = pods.filter(node_name="", deletion_timestamp__isnull=True).exclude(phase__in=TERMINAL_PHASES)
    packed = pending.annotate(packed=Cast("manifest", BinaryField())).values_list("packed", flat=True)
    for content in packed.order_by("-rv")[:LOOKED_AT].iterator(chunk_size=ROWS):
        text = decompressed(content)
        if any(word in text for word in _ASKS):
            yield from waiting(unpacked(content), objects)


@dataclass(frozen=True)
class _AtOnce(Stored):
    """What rules about single objects look up, read once for all."""

    cluster_id: int

    def named(self, kind: str, namespace: str, names: Collection[str]) -> dict[str, Any]:
        match kind:
            case "StorageClass":
                known = self._classes
            case "PersistentVolumeClaim":
                known = self._claims.get(namespace, {})
            case "Pod":
                known = self._consumers.get(namespace, {})
            case _:
                return super().named(kind, namespace, names)
        return {name: known[name] for name in names if name in known}

    @cached_property
    def _classes(self) -> dict[str, Any]:
        rows = ApiObject.objects.filter(cluster_id=self.cluster_id, kind="StorageClass")
        return dict(rows.values_list("name", "manifest"))

    @cached_property
    def _claims(self) -> dict[str, dict[str, Any]]:
        """That they are there is all that is asked of these."""
        rows = ApiObject.objects.filter(cluster_id=self.cluster_id, kind="PersistentVolumeClaim")
        found: dict[str, dict[str, Any]] = {}
        for namespace, name in rows.values_list("namespace", "name"):
            found.setdefault(namespace, {})[name] = {}
        return found

    @cached_property
    def _consumers(self) -> dict[str, dict[str, Any]]:
        """The pods that claims of devices are reserved for."""
        wanted: dict[str, set[str]] = {}
        for namespace, _, status in self.claims():
            names = (one["name"] for one in (status or {}).get("reservedFor") or ())
            wanted.setdefault(namespace, set()).update(names)
        return {namespace: super(_AtOnce, self).named("Pod", namespace, names) for namespace, names in wanted.items()}
