"""In-tree volumes in the words of the CSI drivers that took over."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.csi_migration import TranslationError, in_tree_source_of, with_csi_topology
from scheduler_core.api.volumes import required_reach
from tests.core.volumes import affinity, make_volume

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
GCE = "kubernetes.io/gce-pd"
GKE = "topology.gke.io/zone"


@pytest.mark.parametrize(
    ("labels", "source", "want"),
    [
        pytest.param(
            {}, {"awsElasticBlockStore": {"volumeID": "vol-1"}}, ("ebs.csi.aws.com", "vol-1"), id="EBS, plain"
        ),
        pytest.param(
            {}, {"awsElasticBlockStore": {"volumeID": "aws://a/vol-1"}}, ("ebs.csi.aws.com", "vol-1"), id="EBS, as URL"
        ),
        pytest.param(
            {ZONE: "a"},
            {"gcePersistentDisk": {"pdName": "d"}},
            ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/a/disks/d"),
            id="GCE disk of a zone",
        ),
        pytest.param(
            {},
            {"gcePersistentDisk": {"pdName": "d"}},
            ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
            id="GCE disk of no known zone",
        ),
        pytest.param(
            {OLD_ZONE: "eu-west1-b__eu-west1-c"},
            {"gcePersistentDisk": {"pdName": "d"}},
            ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/regions/eu-west1/disks/d"),
            id="GCE disk of a region",
        ),
        pytest.param({}, {"cinder": {"volumeID": "x"}}, ("cinder.csi.openstack.org", "x"), id="Cinder"),
        pytest.param({}, {"azureDisk": {"diskURI": "/u"}}, ("disk.csi.azure.com", "/u"), id="Azure disk"),
    ],
)
def test_handle_names_the_volume_for_the_driver(
    labels: dict[str, str], source: dict[str, Any], want: tuple[str, str]
) -> None:
    found = in_tree_source_of(make_volume(labels=labels, **source))
    assert found is not None
    assert (found.driver, found.handle()) == want


@pytest.mark.parametrize(
    ("labels", "source"),
    [
        pytest.param({}, {"awsElasticBlockStore": {"volumeID": "aws://a/disk"}}, id="no EBS volume"),
        pytest.param({ZONE: "us-a__eu-b"}, {"gcePersistentDisk": {"pdName": "d"}}, id="zones of two regions"),
    ],
)
def test_handle_fails_for_what_no_driver_knows(labels: dict[str, str], source: dict[str, Any]) -> None:
    found = in_tree_source_of(make_volume(labels=labels, **source))
    assert found is not None
    with pytest.raises(TranslationError):
        found.handle()


def test_other_volumes_do_not_migrate() -> None:
    assert in_tree_source_of(make_volume(nfs={"path": "/"})) is None


@pytest.mark.parametrize(
    ("labels", "fields", "want"),
    [
        pytest.param({ZONE: "a__b"}, {}, {GKE: ("a", "b")}, id="zones from the label"),
        pytest.param(
            {ZONE: "a"},
            {"nodeAffinity": affinity({"key": ZONE, "operator": "In", "values": ["c"]})},
            {GKE: ("c",)},
            id="zones from the affinity first",
        ),
        pytest.param(
            {},
            {"nodeAffinity": affinity({"key": OLD_ZONE, "operator": "In", "values": ["c"]})},
            {GKE: ("c",)},
            id="the beta label in the affinity",
        ),
        pytest.param(
            {ZONE: "a"},
            {"nodeAffinity": affinity({"key": "x", "operator": "In", "values": ["y"]})},
            {"x": ("y",), GKE: ("a",)},
            id="other requirements stay",
        ),
    ],
)
def test_zones_are_told_by_the_drivers_label(
    labels: dict[str, str], fields: dict[str, Any], want: dict[str, tuple[str, ...]]
) -> None:
    volume = with_csi_topology(make_volume(labels=labels, gcePersistentDisk={"pdName": "d"}, **fields), GCE)
    reach = required_reach(volume)
    assert reach is not None
    (term,) = reach.terms
    assert {each.key: each.values for each in term.requirements} == want
