"""What pods request, resource names, host ports, and what else is derived from objects."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import pytest
from hypothesis import given

from scheduler_core.api import derived, resources
from scheduler_core.api.manifests import decode
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import NON_ZERO_DEFAULTS, node_sums, pod_requests
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.strategies import pod_manifests


def texts(pod: Pod, **options: Any) -> dict[str, str]:
    chosen = {"use_status": True, "use_pod_level": True, **options}
    return {name: str(quantity) for name, quantity in pod_requests(pod, **chosen).items()}


def resized(pod: PodBuilder, *, held: str, allocated: str, **extra: Any) -> PodBuilder:
    status = {"name": "c0", "resources": {"requests": {"cpu": held}}, "allocatedResources": {"cpu": allocated}}
    return pod.status(containerStatuses=[status], **extra)


INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]


@cases(
    "pod, want",
    ("nothing", make_pod(), {}),
    ("one container", make_pod().req(cpu="500m"), {"cpu": "500m"}),
    ("containers add up", make_pod().container({"cpu": "2"}).container({"cpu": "1"}), {"cpu": "3"}),
    ("the largest init container counts",
     make_pod().container({"cpu": "1"}).init_container({"cpu": "4", "memory": "1Gi"}), {"cpu": "4", "memory": "1Gi"}),
    ("a sidecar runs beside later init containers and the pod",
     make_pod().container({"cpu": "2"}).container({"cpu": "1"}).init_container({"cpu": "2"})
         .init_container({"cpu": "1"}, sidecar=True).init_container({"cpu": "3"}), {"cpu": "4"}),
    ("start-up with the sidecar is the largest",
     make_pod().container({"cpu": "1"}).init_container({"cpu": "2"}, sidecar=True).init_container({"cpu": "3"}),
     {"cpu": "5"}),
    ("overhead is added, also for what is not requested", make_pod().req(cpu="1").overhead(cpu="250m", memory="120Mi"),
     {"cpu": "1250m", "memory": "120Mi"}),
    ("pod level replaces, overhead comes on top",
     make_pod().req({"cpu": "1", "memory": "1Gi", "example.com/gpu": "1"}).pod_level(cpu="5").overhead(cpu="1"),
     {"cpu": "6", "memory": "1Gi", "example.com/gpu": "1"}),
    ("a resize down counts what is held", resized(make_pod().req(cpu="1"), held="2", allocated="1500m"), {"cpu": "2"}),
    ("a resize up counts the wish", resized(make_pod().req(cpu="3"), held="2", allocated="1"), {"cpu": "3"}),
    ("an infeasible wish is left out", resized(make_pod().req(cpu="3"), held="2", allocated="1", conditions=INFEASIBLE),
     {"cpu": "2"}),
    ("the first resize condition decides",
     resized(make_pod().req(cpu="3"), held="2", allocated="1", conditions=DEFERRED + INFEASIBLE), {"cpu": "3"}),
)  # fmt: skip
def test_pod_requests(pod: PodBuilder, want: dict[str, str]) -> None:
    assert texts(pod.build()) == want


def test_pod_requests_leave_out_status_and_pod_level_when_not_asked() -> None:
    pod = resized(make_pod().req(cpu="1").pod_level(cpu="9"), held="2", allocated="2").build()
    assert texts(pod, use_status=False, use_pod_level=False) == {"cpu": "1"}
    assert texts(pod, use_pod_level=False) == {"cpu": "2"}


def test_defaults_apply_to_each_container_that_names_no_value() -> None:
    pod = make_pod().container({"cpu": "0"}).container({}).init_container({"memory": "1Gi"}).build()
    assert texts(pod, non_missing=NON_ZERO_DEFAULTS) == {"cpu": "100m", "memory": "1Gi"}


@cases(
    "pod, want",
    ("best effort", make_pod(), (100, 200 << 20)),
    ("each container", make_pod().container().container(), (200, 400 << 20)),
    ("an explicit zero is kept", make_pod().req(cpu="0", memory="1Gi"), (0, 1 << 30)),
    ("pod level lacks memory: its containers get it", make_pod().pod_level(cpu="2"), (2000, 200 << 20)),
    ("pod level, nothing lacking", make_pod().req(memory="1Gi").pod_level(cpu="2"), (2000, 1 << 30)),
    ("overhead counts", make_pod().req(cpu="1").overhead(cpu="1"), (2000, 200 << 20)),
)
def test_node_sums_give_defaults(pod: PodBuilder, want: tuple[int, int]) -> None:
    assert node_sums(pod.build())[1:] == want


def test_node_sums_use_defaults_when_an_infeasible_resize_hides_the_wish() -> None:
    pod = resized(make_pod().req(cpu="3", memory="1Gi"), held="2", allocated="1", conditions=INFEASIBLE).build()
    assert node_sums(pod)[1:] == (2000, 200 << 20)


@given(pod_manifests())
def test_node_sums_agree_with_a_naive_sum(manifest: dict[str, Any]) -> None:
    pod = cast(Pod, decode(manifest))
    for name, got in (("cpu", node_sums(pod)[1]), ("memory", node_sums(pod)[2])):
        default = Fraction(NON_ZERO_DEFAULTS[name].nano, 10**9)

        def own(container: Any, name: str = name, default: Fraction = default) -> Fraction:
            quantity = (container.resources.requests or {}).get(name)
            return default if quantity is None else Fraction(quantity.nano, 10**9)

        running = sum((own(one) for one in pod.spec.containers), Fraction(0))
        sidecars = peak = Fraction(0)
        for one in pod.spec.init_containers or ():
            if one.is_restartable_init:
                sidecars += own(one)
            peak = max(peak, sidecars if one.is_restartable_init else own(one) + sidecars)
        total = max(running + sidecars, peak) * (1000 if name == "cpu" else 1)
        assert got == -(-total.numerator // total.denominator)


def test_requests_of_the_pod_stay_untouched() -> None:
    pod = make_pod().container({"cpu": "1"}).container({"cpu": "1"}).overhead(cpu="1").build()
    before = decode(make_pod().container({"cpu": "1"}).container({"cpu": "1"}).overhead(cpu="1").manifest())
    node_sums(pod)
    assert pod == before


@cases(
    "name, native, extended, scalar",
    ("cpu", "cpu", True, False, False),
    ("memory", "memory", True, False, False),
    ("extended", "example.com/gpu", False, True, True),
    ("hugepages", "hugepages-2Mi", True, False, True),
    ("kubernetes.io", "kubernetes.io/thing", True, False, True),
    ("attachable volumes", "attachable-volumes-csi-x", True, False, True),
    ("quota names", "requests.example.com/gpu", False, False, False),
    ("too long a name", "example.com/" + "g" * 64, False, False, False),
    ("no domain", "anything", True, False, False),
)
def test_resource_names(name: str, native: bool, extended: bool, scalar: bool) -> None:
    got = (resources.is_native(name), resources.is_extended(name), resources.is_scalar(name))
    assert got == (native, extended, scalar)


def test_host_ports_list_sidecars_first_and_no_plain_init_containers() -> None:
    port = {"containerPort": 1, "hostPort": 1}
    pod = (
        make_pod()
        .container({}, ports=[{**port, "hostPort": 80}, {"containerPort": 9}])
        .init_container({}, ports=[{**port, "hostPort": 81}])
        .init_container({}, sidecar=True, ports=[{**port, "hostPort": 82, "protocol": "UDP", "hostIP": "10.0.0.1"}])
        .build()
    )
    assert resources.host_ports(pod) == (("10.0.0.1", "UDP", 82), ("0.0.0.0", "TCP", 80))


@cases(
    "wanted, used, want",
    ("any address wanted", ("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
    ("any address used", ("10.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
    ("other address", ("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
    ("other protocol", ("0.0.0.0", "TCP", 80), ("0.0.0.0", "UDP", 80), False),
    ("other port", ("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 81), False),
    ("two colons are an ordinary address", ("::", "TCP", 80), ("10.0.0.1", "TCP", 80), False),
)
def test_host_ports_conflict(wanted: resources.HostPort, used: resources.HostPort, want: bool) -> None:
    assert resources.ports_conflict(wanted, used) is want


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("reg:5000/app", "reg:5000/app:latest"),
        ("reg:5000/app:v3", "reg:5000/app:v3"),
        ("app@sha256:aa", "app@sha256:aa"),
    ],
)
def test_image_names_get_a_tag(name: str, want: str) -> None:
    assert derived.normalized_image_name(name) == want


@cases(
    "labels, want",
    ("neither", {}, ""),
    ("zone only", {derived.ZONE: "z"}, ":\x00:z"),
    ("both", {derived.ZONE: "z", derived.REGION: "r"}, "r:\x00:z"),
    ("the beta label wins", {derived.ZONE: "z", derived.BETA_ZONE: "old"}, ":\x00:old"),
    ("even when empty", {derived.ZONE: "z", derived.BETA_ZONE: ""}, ""),
)
def test_zone_key(labels: dict[str, str], want: str) -> None:
    assert derived.zone_key(make_node().label(labels).build()) == want


def test_claim_of_an_ephemeral_volume_belongs_to_its_pod_only() -> None:
    pod = make_pod("p", uid="u1").build()
    assert derived.ephemeral_claim_name(pod, "v") == "p-v"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}
    mine = make("PersistentVolumeClaim", "p-v", metadata={"ownerReferences": [{**owner, "uid": "u1"}]})
    namesake = make("PersistentVolumeClaim", "p-v", metadata={"ownerReferences": [{**owner, "uid": "u0"}]})
    assert derived.claim_belongs_to(mine, pod)
    assert not derived.claim_belongs_to(namesake, pod)
    assert not derived.claim_belongs_to(make("PersistentVolumeClaim", "p-v"), pod)


def test_start_time_is_now_when_the_pod_has_not_started() -> None:
    assert derived.start_time_us(make_pod().build(), 7) == 7
    assert derived.start_time_us(make_pod().started("2030-01-01T00:00:00Z").build(), 7) == 1_893_456_000_000_000


def test_not_found_texts() -> None:
    assert derived.claim_not_found("x") == 'persistentvolumeclaim "x" not found'
    assert derived.volume_not_found("x") == 'persistentvolume "x" not found'
    assert derived.storage_class_not_found("x") == 'storageclass.storage.k8s.io "x" not found'
    assert derived.resource_claim_not_found("ns/x") == 'could not find ResourceClaim "ns/x"'
    assert derived.pod_full_name(make_pod("p").build()) == "p_default"
