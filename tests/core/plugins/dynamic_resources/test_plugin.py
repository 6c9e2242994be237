"""Claims that are missing, unusable or out of reach, what is said without any, and what is worth another try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.model.events import ActionType, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.plugins.dynamic_resources.plugin import NO_CLAIMS, NO_STATE, NOT_ON_NODE, STILL_NOT
from scheduler_core.plugins.dynamic_resources.verdicts import CANNOT_ALLOCATE
from tests.builders import PodBuilder, make_node, make_pod
from tests.cases import cases

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


class Store:
    def __init__(self, objects: Sequence[KubeObject]) -> None:
        self.objects = objects
        self.lister = self
        self.shared: dict[str, Any] = {}
        self.observes = False

    def get(self, kind: str, key: str) -> KubeObject | None:
        return next((each for each in self.objects if (each.kind, each.key) == (kind, key)), None)

    def list(self, kind: str) -> Sequence[KubeObject]:
        return [each for each in self.objects if each.kind == kind]

    def version(self, kind: str) -> int:
        return 1

    def changes(self, kind: str, since: int) -> None:
        return None


def plugin(*objects: KubeObject) -> DynamicResources:
    return DynamicResources(None, cast(Handle, Store(objects)))


def claim(name: str = "c", *, metadata: dict[str, Any] | None = None, **fields: Any) -> KubeObject:
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **(metadata or {})},
        **fields,
    }
    return manifests.decode(manifest)


def wanting(*requests: dict[str, Any]) -> KubeObject:
    return claim(spec={"devices": {"requests": [{"name": "r", **request} for request in requests]}})


def device_class(name: str) -> KubeObject:
    manifest = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name, "uid": name}}
    return manifests.decode(manifest)


def using(**entry: str) -> PodBuilder:
    return make_pod("p").spec(resourceClaims=[{"name": "e", **entry}])


PLAIN = using(resourceClaimName="c")
GENERATED = using(resourceClaimTemplateName="t").status(resourceClaimStatuses=[{"name": "e", "resourceClaimName": "c"}])
OWNED = {"ownerReferences": [{"name": "p", "kind": "Pod", "uid": make_pod("p").build().uid, "controller": True}]}
ALLOCATED: dict[str, Any] = {"status": {"allocation": {}}}


def on_node(label: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": [label]}]}
    return {"status": {"allocation": {"nodeSelector": {"nodeSelectorTerms": [term]}}}}


@cases(
    "pod, objects, reason",
    ("no claims", make_pod("p"), [], ""),
    ("its claim is there", PLAIN, [claim()], ""),
    ("claim missing", PLAIN, [], 'could not find ResourceClaim "default/c"'),
    ("claim being deleted", PLAIN, [claim(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"})],
     'resourceclaim "c" is being deleted'),
    ("not made yet", using(resourceClaimTemplateName="t"), [], 'pod "default/p": ResourceClaim not created yet'),
    ("none needed", using(resourceClaimTemplateName="t").status(resourceClaimStatuses=[{"name": "e"}]), [], ""),
    ("neither claim nor template", using(), [],
     'pod "default/p", spec.resourceClaim "e": none of the supported fields are set'),
    ("made for it", GENERATED, [claim(metadata=OWNED)], ""),
    ("made for another", GENERATED, [claim()],
     "ResourceClaim default/c was not created for pod default/p (pod is not owner)"),
)  # fmt: skip
def test_pod_is_gated_until_its_claims_are_there(pod: PodBuilder, objects: list[KubeObject], reason: str) -> None:
    status = plugin(*objects).pre_enqueue(pod.build())
    assert status.message == reason
    assert status.code is (Code.UnschedulableAndUnresolvable if reason else Code.Success)
    if reason:
        assert plugin(*objects).pre_filter(CycleState(), pod.build(), [])[1] == status


EXACTLY = {"exactly": {"deviceClassName": "gpu"}}


@cases(
    "objects, want",
    ("class is there", [wanting(EXACTLY), device_class("gpu")], Status(Code.Success)),
    ("class missing", [wanting(EXACTLY)], Status.unresolvable("request r: device class gpu does not exist")),
    ("class of an alternative missing", [wanting({"firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]})],
     Status.unresolvable("request r/s: device class gpu does not exist")),
    ("request of no known kind", [wanting({})],
     Status.unresolvable("resource claim default/c, request r: unknown request type")),
    ("allocated: nothing is asked any more", [claim(**ALLOCATED)], Status(Code.Success)),
)  # fmt: skip
def test_pre_filter_looks_at_what_is_still_to_be_allocated(objects: list[KubeObject], want: Status) -> None:
    assert plugin(*objects).pre_filter(CycleState(), PLAIN.build(), [])[1] == want


def test_pre_filter_skips_pods_without_claims() -> None:
    assert plugin().pre_filter(CycleState(), make_pod("p").build(), [])[1].is_skip


GPU_CLASS = manifests.decode(
    {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu", "uid": "g"}, "spec": {}}
)
GPU_REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
ONE_GPU: dict[str, Any] = {"spec": {"devices": {"requests": [GPU_REQUEST]}}}


@cases(
    "fields, reason",
    ("nothing allocated", ONE_GPU, CANNOT_ALLOCATE),
    ("usable everywhere", ALLOCATED, ""),
    ("usable here", on_node("a"), ""),
    ("usable elsewhere", on_node("b"), NOT_ON_NODE),
)
def test_filter_asks_whether_the_allocated_devices_can_be_reached(fields: dict[str, Any], reason: str) -> None:
    resources, state = plugin(claim(**fields), GPU_CLASS), CycleState()
    resources.pre_filter(state, PLAIN.build(), [])
    node_info = NodeInfo(lambda: 1)
    node_info.set_node(make_node("n1").label(rack="a").build())
    status = resources.filter(state, PLAIN.build(), node_info)
    assert (status.message, status.code) == (reason, Code.UnschedulableAndUnresolvable if reason else Code.Success)


@cases(
    "pod, runs, want",
    ("no claims", make_pod("p"), True, Status.unschedulable(NO_CLAIMS)),
    ("nothing to give back", PLAIN, True, Status.unschedulable(STILL_NOT)),
    ("its PreFilter never ran", make_pod("p"), False, Status.failed(NO_STATE)),
)
def test_post_filter_says(pod: PodBuilder, runs: bool, want: Status) -> None:
    resources, state = plugin(claim()), CycleState()
    if runs:
        resources.pre_filter(state, pod.build(), [])
    assert resources.post_filter(state, pod.build(), NodeToStatus()) == (None, want)


def hint_of(resources: DynamicResources, resource: EventResource) -> Any:
    return next(each.hint for each in resources.events_to_register() if each.event.resource is resource)


@cases(
    "objects, old, new, want",
    ("its own claims are missing", [], None, claim("other"), SKIP),
    ("its claim came", [claim()], None, claim(), QUEUE),
    ("another claim came", [claim()], None, claim("other"), SKIP),
    ("devices of another came free", [claim()], claim("other", **ALLOCATED), claim("other"), QUEUE),
    ("its claim was allocated", [claim()], claim(), claim(**ALLOCATED), QUEUE),
    ("same status", [claim()], claim(), claim(metadata={"labels": {"a": "b"}}), SKIP),
)
def test_claim_is_worth_another_try_when(
    objects: list[KubeObject], old: KubeObject | None, new: KubeObject, want: QueueingHint
) -> None:
    assert hint_of(plugin(*objects), EventResource.RESOURCE_CLAIM)(PLAIN.build(), old, new) is want


@cases(
    "changed, objects, want",
    ("its claims are complete", GENERATED.build(), [claim(metadata=OWNED)], QUEUE),
    ("its claims are still missing", GENERATED.build(), [], SKIP),
    ("another pod", make_pod("q").build(), [], SKIP),
)
def test_own_change_is_worth_another_try_when(changed: Pod, objects: list[KubeObject], want: QueueingHint) -> None:
    hint = hint_of(plugin(*objects), EventResource.POD)
    assert hint(using(resourceClaimTemplateName="t").build(), None, changed) is want


def test_registered_events() -> None:
    events = {(each.event.resource, each.event.action) for each in plugin().events_to_register()}
    change = ActionType.ADD | ActionType.UPDATE
    assert events == {
        (EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE),
        (EventResource.RESOURCE_CLAIM, change),
        (EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM),
        (EventResource.DEVICE_CLASS, change),
        (EventResource.RESOURCE_SLICE, change),
    }
