"""In-tree volumes whose work CSI drivers do: the driver's name, the handle it knows the volume by, its topology label.

Source: Kubernetes 1.34, csi-translation-lib.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from scheduler_core.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_core.api.derived import BETA_REGION, BETA_ZONE, REGION, ZONE
from scheduler_core.api.pod import AWSElasticBlockStore, GCEPersistentDisk, Volume
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity

AWS_EBS: Final = "kubernetes.io/aws-ebs"
GCE_PD: Final = "kubernetes.io/gce-pd"
AZURE_DISK: Final = "kubernetes.io/azure-disk"
AZURE_FILE: Final = "kubernetes.io/azure-file"
CINDER: Final = "kubernetes.io/cinder"
PORTWORX: Final = "kubernetes.io/portworx-volume"
VSPHERE: Final = "kubernetes.io/vsphere-volume"

CSI_DRIVERS: Final = {
    AWS_EBS: "ebs.csi.aws.com",
    GCE_PD: "pd.csi.storage.gke.io",
    AZURE_DISK: "disk.csi.azure.com",
    AZURE_FILE: "file.csi.azure.com",
    CINDER: "cinder.csi.openstack.org",
    PORTWORX: "pxd.portworx.com",
    VSPHERE: "csi.vsphere.vmware.com",
}
TOPOLOGY_KEYS: Final = {
    AWS_EBS: "topology.ebs.csi.aws.com/zone",
    GCE_PD: "topology.gke.io/zone",
    AZURE_DISK: "topology.disk.csi.azure.com/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
    VSPHERE: "topology.csi.vmware.com/zone",
}
ZONE_DELIMITER: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"
_AWS_VOLUME = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """The source does not name a volume its driver could know."""


@dataclass(frozen=True, slots=True)
class InTreeSource:
    """A migratable source of a pod's volume or a persistent volume; `zones` are those of its labels."""

    plugin: str
    source: Any
    zones: tuple[str, ...] = ()

    @property
    def driver(self) -> str:
        return CSI_DRIVERS[self.plugin]

    def handle(self) -> str | None:
        """The volume's name for the driver; None where it has none of its own. Raises TranslationError."""
        source = self.source
        match self.plugin:
            case "kubernetes.io/aws-ebs":
                return _ebs_handle(source.volume_id)
            case "kubernetes.io/gce-pd":
                return self._gce_handle(source.pd_name)
            case "kubernetes.io/azure-disk":
                return str(source.get("diskURI", ""))
            case "kubernetes.io/cinder" | "kubernetes.io/portworx-volume":
                return str(source.get("volumeID", ""))
            case "kubernetes.io/vsphere-volume":
                return str(source.get("volumePath", ""))
        return None

    def _gce_handle(self, disk: str) -> str:
        if len(self.zones) > 1:
            regions = {zone.rpartition("-")[0] for zone in self.zones}
            if len(regions) > 1 or "" in regions:
                raise TranslationError(f"multiple or no regions for zones {list(self.zones)}")
            return f"projects/{_UNSPECIFIED}/regions/{regions.pop()}/disks/{disk}"
        zone = self.zones[0] if self.zones and self.zones[0] else _UNSPECIFIED
        return f"projects/{_UNSPECIFIED}/zones/{zone}/disks/{disk}"


def in_tree_source(volume: Volume | PersistentVolumeSpec) -> InTreeSource | None:
    """The migratable source of a pod's volume, or of a persistent volume without regard to its labels."""
    sources: tuple[tuple[str, GCEPersistentDisk | AWSElasticBlockStore | dict[str, Any] | None], ...] = (
        (GCE_PD, volume.gce_persistent_disk),
        (AWS_EBS, volume.aws_elastic_block_store),
        (CINDER, volume.cinder),
        (AZURE_DISK, volume.azure_disk),
        (AZURE_FILE, volume.azure_file),
        (VSPHERE, volume.vsphere_volume),
        (PORTWORX, volume.portworx_volume),
    )
    return next((InTreeSource(plugin, source) for plugin, source in sources if source is not None), None)


def in_tree_source_of(volume: PersistentVolume) -> InTreeSource | None:
    """The migratable source of a persistent volume."""
    source = in_tree_source(volume.spec)
    if source is None:
        return None
    labels = volume.labels
    zones = labels.get(BETA_ZONE) or labels.get(ZONE, "")
    return InTreeSource(source.plugin, source.source, tuple(zones.split(ZONE_DELIMITER)) if zones else ())


def with_csi_topology(volume: PersistentVolume, plugin: str) -> PersistentVolume:
    """The volume with its zones told by the driver's label: rewritten in its node affinity, else from its labels."""
    key = TOPOLOGY_KEYS.get(plugin)
    if key is None:
        return volume
    labels = volume.labels
    zone_key = BETA_ZONE if BETA_ZONE in labels or (ZONE not in labels and _names_key(volume, BETA_ZONE)) else ZONE
    if _names_key(volume, zone_key):
        volume = _with_keys(volume, {zone_key: key})
    elif labels.get(zone_key):
        volume = _with_requirement(volume, key, tuple(labels[zone_key].split(ZONE_DELIMITER)))
    return _with_keys(volume, {BETA_REGION: REGION})


def _terms(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()


def _names_key(volume: PersistentVolume, key: str) -> bool:
    return any(one.key == key for term in _terms(volume) for one in term.match_expressions or ())


def _with_keys(volume: PersistentVolume, new_keys: dict[str, str]) -> PersistentVolume:
    terms = tuple(
        replace(
            term,
            match_expressions=tuple(replace(one, key=new_keys.get(one.key, one.key)) for one in term.match_expressions),
        )
        if term.match_expressions
        else term
        for term in _terms(volume)
    )
    return _with_terms(volume, terms) if terms else volume


def _with_requirement(volume: PersistentVolume, key: str, zones: tuple[str, ...]) -> PersistentVolume:
    requirement = NodeSelectorRequirement(key=key, operator="In", values=zones)
    terms = tuple(
        replace(term, match_expressions=(*(term.match_expressions or ()), requirement))
        for term in _terms(volume) or (NodeSelectorTerm(),)
    )
    return _with_terms(volume, terms)


def _with_terms(volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...]) -> PersistentVolume:
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))
    return replace(volume, spec=replace(volume.spec, node_affinity=affinity))


def _ebs_handle(volume_id: str) -> str:
    """`vol-1234` as it is; of `aws://zone/vol-1234` the last part."""
    if not volume_id.startswith("aws://"):
        return volume_id
    handle = urlsplit(volume_id).path.strip("/")
    if not _AWS_VOLUME.fullmatch(handle):
        text = f"failed to translate Kubernetes ID to EBS Volume ID invalid format for AWS volume ({volume_id})"
        raise TranslationError(text)
    return handle
