"""What each node can do for a pod's claims."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.status import SKIP, SUCCESS, Status
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, run_filter
from tests.core.volumes import (
    BIND_CONFLICT,
    DRIVER,
    NO_SPACE,
    NO_VOLUME,
    NODE_CONFLICT,
    affinity,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
)

LOCAL = make_class(provisioner="kubernetes.io/no-provisioner")
COUNTS = make("CSIDriver", DRIVER, spec={"storageCapacity": True})
ON_N1 = {"volume.kubernetes.io/selected-node": "n1"}
POD = make_pod().claim_volume("c")
A_AND_C = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a", "c"]}]}]
NODE_FIELD = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]


def refused(*reasons: str) -> Status:
    return Status.unresolvable(*reasons)


ANYWHERE, NOWHERE = [SUCCESS] * 2, [refused(BIND_CONFLICT)] * 2
ON_FIRST = [SUCCESS, refused(BIND_CONFLICT)]


@cases(
    "objects, want",
    ("a bound volume is reached from its node only", [make_claim(volume="v"), make_volume("v", node="n1")],
     [SUCCESS, refused(NODE_CONFLICT)]),
    ("a bound volume without affinity", [make_claim(volume="v"), make_volume("v")], ANYWHERE),
    ("a bound volume that does not exist", [make_claim(volume="v")], [refused(NO_VOLUME)] * 2),
    ("an affinity without terms is met by nobody",
     [make_claim(volume="v"), make_volume("v", nodeAffinity={"required": {"nodeSelectorTerms": []}})],
     [refused(NODE_CONFLICT)] * 2),
    ("a term of fields alone is met by everybody, names are not known here",
     [make_claim(volume="v"), make_volume("v", nodeAffinity=affinity(fields=NODE_FIELD))], ANYWHERE),
    ("a free volume is found on its node only", [make_claim(), LOCAL, make_volume("v", node="n1")], ON_FIRST),
    ("a volume too small", [make_claim(size="11Gi"), LOCAL, make_volume("v")], NOWHERE),
    ("a volume that is not available", [make_claim(), LOCAL, make_volume("v", phase="Released")], NOWHERE),
    ("a volume of another mode", [make_claim(volumeMode="Block"), LOCAL, make_volume("v")], NOWHERE),
    ("a volume of another attributes class", [make_claim(volumeAttributesClassName="gold"), LOCAL, make_volume("v")],
     NOWHERE),
    ("a volume without one of the access modes",
     [make_claim(modes=("ReadWriteOnce", "ReadOnlyMany")), LOCAL, make_volume("v")], NOWHERE),
    ("a volume the selector does not pick",
     [make_claim(selector={"matchLabels": {"kind": "ssd"}}), LOCAL, make_volume("v", labels={"kind": "hdd"})], NOWHERE),
    ("a volume of another class", [make_claim(), LOCAL, make_volume("v", class_name="other")], NOWHERE),
    ("a volume that is being deleted",
     [make_claim(), LOCAL, make_volume("v", metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"})], NOWHERE),
    ("a volume set aside for another claim", [make_claim(), LOCAL, make_volume("v", claim=make_claim("other"))],
     NOWHERE),
    ("a volume set aside for the claim is used or none",
     [make_claim(), LOCAL, make_volume("a"), make_volume("v", node="n1", claim=make_claim(), phase="Pending")],
     ON_FIRST),
    ("a volume can be made anywhere", [make_claim(), make_class()], ANYWHERE),
    ("a claim placed on a node stays there", [make_claim(annotations=ON_N1), make_class()], ON_FIRST),
    ("the class makes volumes in some zones", [make_claim(), make_class(allowedTopologies=A_AND_C)], ON_FIRST),
    ("an allowed topology without expressions is nowhere", [make_claim(), make_class(allowedTopologies=[{}])], NOWHERE),
    ("room is reported for one zone", [make_claim(size="5Gi"), make_class(), COUNTS, make_capacity()],
     [SUCCESS, refused(NO_SPACE)]),
    ("the largest volume counts more than the capacity",
     [make_claim(size="5Gi"), make_class(), COUNTS, make_capacity(largest="4Gi")], [refused(NO_SPACE)] * 2),
    ("a report without limit or without topology is of no use",
     [make_claim(), make_class(), COUNTS, make_capacity(capacity=None), make_capacity("b", zone=None)],
     [refused(NO_SPACE)] * 2),
    ("nobody looks at reports of a driver that does not count",
     [make_claim(), make_class(), make_capacity(capacity="1Ki")], ANYWHERE),
)  # fmt: skip
def test_filter_says_what_stands_against_a_node(objects: list[KubeObject], want: list[Status]) -> None:
    infos = [make_info(make_node("n1").zone("a")), make_info(make_node("n2").zone("b"))]
    assert run_filter(make_plugin("VolumeBinding", objects=objects), POD.build(), *infos) == want


def test_several_reasons_come_in_upstreams_order() -> None:
    objects = [
        make_claim("far", volume="v"), make_volume("v", node="n2"), make_claim("gone", volume="w"),
        make_claim("x"), LOCAL,
    ]  # fmt: skip
    pod = make_pod().claim_volume("gone").claim_volume("x").build()
    infos = [make_info(make_node("n1"))]
    plugin = make_plugin("VolumeBinding", objects=objects)
    assert run_filter(plugin, pod, *infos) == [refused(BIND_CONFLICT, NO_VOLUME)]
    pod = make_pod().claim_volume("far").claim_volume("x").build()
    assert run_filter(plugin, pod, *infos) == [refused(NODE_CONFLICT, BIND_CONFLICT)]


def test_claims_share_no_volume_and_the_smallest_request_chooses_first() -> None:
    objects = [
        make_claim("large", size="3Gi"), make_claim("small", size="1Gi"), LOCAL,
        make_volume("big", size="4Gi"), make_volume("tiny", size="2Gi"),
    ]  # fmt: skip
    plugin = make_plugin("VolumeBinding", objects=objects)
    infos = [make_info(make_node("n1"))]
    pod = make_pod().claim_volume("large").claim_volume("small")
    assert run_filter(plugin, pod.build(), *infos) == [SUCCESS]
    objects.append(make_claim("third"))
    assert run_filter(make_plugin("VolumeBinding", objects=objects), pod.claim_volume("third").build(), *infos) == [
        refused(BIND_CONFLICT)
    ]


def test_what_cannot_be_matched_is_judged_by_whether_it_can_be_made() -> None:
    """The missing match is forgotten once provisioning ran into something else."""
    objects = [make_claim(), make_class(), COUNTS]
    plugin = make_plugin("VolumeBinding", objects=objects)
    assert run_filter(plugin, POD.build(), make_info(make_node("n1"))) == [refused(NO_SPACE)]


def test_unreadable_selector_of_a_claim_is_an_error() -> None:
    objects = [make_claim(selector={"matchExpressions": [{"key": "a", "operator": "Near"}]}), LOCAL]
    infos = [make_info(make_node("n1"))]
    want = Status.failed('"Near" is not a valid label selector operator')
    assert run_filter(make_plugin("VolumeBinding", objects=objects), POD.build(), *infos) == [want]


def test_migrated_volumes_are_reached_by_the_drivers_labels_where_it_has_taken_over() -> None:
    volume = make_volume("v", labels={"topology.kubernetes.io/zone": "a"}, awsElasticBlockStore={"volumeID": "x"})
    plugin_name = "kubernetes.io/aws-ebs"
    objects = [make_claim(volume="v"), volume, *(make_csi_node(name, migrated=plugin_name) for name in ("n1", "n2"))]
    infos = [
        make_info(make_node("n1").label({"topology.ebs.csi.aws.com/zone": "a"})),
        make_info(make_node("n2").label({"topology.ebs.csi.aws.com/zone": "b"})),
        make_info(make_node("n3")),
    ]
    plugin = make_plugin("VolumeBinding", objects=objects)
    assert run_filter(plugin, POD.build(), *infos) == [SUCCESS, refused(NODE_CONFLICT), SUCCESS]


EPHEMERAL = make_pod().spec(volumes=[{"name": "e", "ephemeral": {}}])
OWNER = {"kind": "Pod", "name": "pod", "uid": make_pod().build().uid, "controller": True, "apiVersion": "v1"}


@cases(
    "pod, objects, want",
    ("no volumes", make_pod(), [], SKIP),
    ("no claims", make_pod().spec(volumes=[{"name": "a", "emptyDir": {}}]), [], SKIP),
    ("a claim that is not there", POD, [], refused('persistentvolumeclaim "c" not found')),
    ("an ephemeral claim that is not made yet", EPHEMERAL, [],
     refused('waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-e"')),
    ("an ephemeral claim of somebody else", EPHEMERAL, [make_claim("pod-e"), make_class()],
     refused("PVC default/pod-e was not created for pod default/pod (pod is not owner)")),
    ("the pod's own ephemeral claim", EPHEMERAL,
     [make_claim("pod-e", metadata={"ownerReferences": [OWNER]}), make_class()], SUCCESS),
    ("a lost claim", POD, [make_claim(volume="v", phase="Lost")],
     refused('persistentvolumeclaim "c" bound to non-existent persistentvolume "v"')),
    ("a claim that is being deleted", POD, [make_claim(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"})],
     refused('persistentvolumeclaim "c" is being deleted')),
    ("an unbound claim that binds at once", POD, [make_claim(), make_class(late=False)],
     refused("pod has unbound immediate PersistentVolumeClaims")),
    ("a claim of a class that is not there", POD, [make_claim()],
     refused("pod has unbound immediate PersistentVolumeClaims")),
    ("a claim that names its volume and is not bound to it yet", POD,
     [make_claim(volume="v", annotations={}), make_class()],
     refused("pod has unbound immediate PersistentVolumeClaims")),
    ("a class without a mode", POD, [make_claim(), make_class(volumeBindingMode=None)],
     Status.failed('VolumeBindingMode not set for StorageClass "late"')),
    ("the class by the old annotation", POD,
     [make_claim(class_name="x", annotations={"volume.beta.kubernetes.io/storage-class": "late"}), make_class()],
     SUCCESS),
)  # fmt: skip
def test_pre_filter_wants_usable_claims(pod: PodBuilder, objects: list[KubeObject], want: Status) -> None:
    plugin = make_plugin("VolumeBinding", objects=objects)
    assert plugin.pre_filter(CycleState(), pod.build(), []) == (None, want)


@cases(
    "claims, want",
    ("out of reach, then missing", ("far", "lost"), [refused(NO_VOLUME), refused(NODE_CONFLICT)]),
    ("missing, then out of reach", ("lost", "far"), [refused(NO_VOLUME)] * 2),
)
def test_first_bound_claim_that_is_missing_or_out_of_reach_counts(claims: tuple[str, ...], want: list[Status]) -> None:
    objects = [make_claim("far", volume="v"), make_volume("v", node="n1"), make_claim("lost", volume="gone")]
    pod = make_pod()
    for claim in claims:
        pod.claim_volume(claim)
    infos = [make_info(make_node("n1")), make_info(make_node("n2"))]
    assert run_filter(make_plugin("VolumeBinding", objects=objects), pod.build(), *infos) == want


# Both forms

_NODES = st.sampled_from(["", "n1", "n2", "n3", "n9"])
_SIZES = st.sampled_from(["1Gi", "2Gi", "3Gi"])
_CLASSES = st.sampled_from(["late", "local"])


@st.composite
def _claims(draw: st.DrawFn) -> list[Any]:
    claims = []
    for index in range(draw(st.integers(1, 4))):
        fields: dict[str, Any] = {"size": draw(_SIZES), "class_name": draw(_CLASSES)}
        match draw(st.integers(0, 4)):
            case 0:
                fields["volume"] = f"v{draw(st.integers(0, 5))}"
            case 1:
                fields["annotations"] = {"volume.kubernetes.io/selected-node": draw(_NODES)}
            case 2:
                fields["selector"] = {"matchLabels": {"kind": "ssd"}}
        claims.append(make_claim(f"c{index}", **fields))
    return claims


@st.composite
def _volumes(draw: st.DrawFn, claims: list[Any]) -> list[Any]:
    return [
        make_volume(
            f"v{index}",
            size=draw(_SIZES),
            class_name=draw(_CLASSES),
            node=draw(_NODES),
            labels={"kind": draw(st.sampled_from(["ssd", "hdd"]))},
            claim=draw(st.sampled_from([None, None, None, *claims])),
            phase=draw(st.sampled_from(["Available", "Available", "Bound"])),
        )
        for index in range(draw(st.integers(0, 5)))
    ]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nodes_and_rows_are_judged_alike(data: st.DataObject) -> None:
    claims = data.draw(_claims())
    zones = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a"]}]}]
    objects = [
        *claims,
        *data.draw(_volumes(claims)),
        make_class("late", allowedTopologies=data.draw(st.sampled_from([None, zones]))),
        make_class("local", provisioner="kubernetes.io/no-provisioner"),
        *data.draw(st.sampled_from([[], [COUNTS], [COUNTS, make_capacity(capacity="2Gi")]])),
    ]
    pod = make_pod()
    for index in data.draw(st.lists(st.integers(0, len(claims) - 1), min_size=1, max_size=5)):
        pod.claim_volume(f"c{index}", name=f"x{index}")
    infos = [make_info(make_node(f"n{i}").zone("ab"[i % 2])) for i in range(1, 4)]
    run_filter(make_plugin("VolumeBinding", objects=objects), pod.build(), *infos)
