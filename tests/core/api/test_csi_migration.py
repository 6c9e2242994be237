"""In-tree volumes in the words of the CSI drivers that took over."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.csi_migration import TranslationError, in_tree_source_of, with_csi_topology
from scheduler_core.api.volumes import required_reach
from tests.cases import cases
from tests.core.volumes import affinity, make_volume

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
GCE = "kubernetes.io/gce-pd"
GKE = "topology.gke.io/zone"


@cases(
    "labels, source, want",
    ("EBS, plain", {}, {"awsElasticBlockStore": {"volumeID": "vol-1"}}, ("ebs.csi.aws.com", "vol-1")),
    ("EBS, as URL", {}, {"awsElasticBlockStore": {"volumeID": "aws://a/vol-1"}}, ("ebs.csi.aws.com", "vol-1")),
    ("GCE disk of a zone", {ZONE: "a"}, {"gcePersistentDisk": {"pdName": "d"}},
     ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/a/disks/d")),
    ("GCE disk of no known zone", {}, {"gcePersistentDisk": {"pdName": "d"}},
     ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d")),
    ("GCE disk of a region", {OLD_ZONE: "eu-west1-b__eu-west1-c"}, {"gcePersistentDisk": {"pdName": "d"}},
     ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/regions/eu-west1/disks/d")),
    ("Cinder", {}, {"cinder": {"volumeID": "x"}}, ("cinder.csi.openstack.org", "x")),
    ("Azure disk", {}, {"azureDisk": {"diskURI": "/u"}}, ("disk.csi.azure.com", "/u")),
)  # fmt: skip
def test_handle_names_the_volume_for_the_driver(
    labels: dict[str, str], source: dict[str, Any], want: tuple[str, str]
) -> None:
    found = in_tree_source_of(make_volume(labels=labels, **source))
    assert found is not None
    assert (found.driver, found.handle()) == want


@cases(
    "labels, source",
    ("no EBS volume", {}, {"awsElasticBlockStore": {"volumeID": "aws://a/disk"}}),
    ("zones of two regions", {ZONE: "us-a__eu-b"}, {"gcePersistentDisk": {"pdName": "d"}}),
)
def test_handle_fails_for_what_no_driver_knows(labels: dict[str, str], source: dict[str, Any]) -> None:
    found = in_tree_source_of(make_volume(labels=labels, **source))
    assert found is not None
    with pytest.raises(TranslationError):
        found.handle()


def test_other_volumes_do_not_migrate() -> None:
    assert in_tree_source_of(make_volume(nfs={"path": "/"})) is None


@cases(
    "labels, fields, want",
    ("zones from the label", {ZONE: "a__b"}, {}, {GKE: ("a", "b")}),
    ("zones from the affinity first", {ZONE: "a"},
     {"nodeAffinity": affinity({"key": ZONE, "operator": "In", "values": ["c"]})}, {GKE: ("c",)}),
    ("the beta label in the affinity", {},
     {"nodeAffinity": affinity({"key": OLD_ZONE, "operator": "In", "values": ["c"]})}, {GKE: ("c",)}),
    ("other requirements stay", {ZONE: "a"},
     {"nodeAffinity": affinity({"key": "x", "operator": "In", "values": ["y"]})}, {"x": ("y",), GKE: ("a",)}),
)  # fmt: skip
def test_zones_are_told_by_the_drivers_label(
    labels: dict[str, str], fields: dict[str, Any], want: dict[str, tuple[str, ...]]
) -> None:
    volume = with_csi_topology(make_volume(labels=labels, gcePersistentDisk={"pdName": "d"}, **fields), GCE)
    reach = required_reach(volume)
    assert reach is not None
    (term,) = reach.terms
    assert {each.key: each.values for each in term.requirements} == want
