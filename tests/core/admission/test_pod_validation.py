"""Every refusal of a pod, with its path."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import PodBuilder, make_pod
from tests.core.admission.context import validate

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod() -> PodBuilder:
    return make_pod("a").container()


def spread(**fields: Any) -> PodBuilder:
    base = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return pod().spec(topologySpreadConstraints=[{**base, **fields}])


def ports(*entries: dict[str, Any]) -> PodBuilder:
    return make_pod("a").container(ports=list(entries))


def pod_term(**term: Any) -> PodBuilder:
    return pod().spec(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}, **term}]}})


SPREAD = "spec.topologySpreadConstraints[0]"
CONTAINER = "spec.containers[0]"
NODE_TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
LABELED = "name part must consist of alphanumeric characters"
NOT_NEGATIVE = "must be greater than or equal to 0"

PODS = [
    pytest.param(
        make_pod("A").container(), 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain', id="name"
    ),
    pytest.param(make_pod("a" * 254).container(), "must be no more than 253 characters", id="long name"),
    pytest.param(
        make_pod("a", namespace="a.b").container(),
        'metadata.namespace: Invalid value: "a.b": must not contain dots',
        id="namespace",
    ),
    pytest.param(pod().label({"-a": "x"}), f'metadata.labels: Invalid value: "-a": {LABELED}', id="label key"),
    pytest.param(
        pod().label(a="x y"), 'metadata.labels: Invalid value: "x y": a valid label must be', id="label value"
    ),
    pytest.param(
        pod().annotation({"a b": "x"}), f'metadata.annotations: Invalid value: "a b": {LABELED}', id="annotation"
    ),
    pytest.param(make_pod("a").spec(containers=[]), "spec.containers: Required value", id="no containers"),
    pytest.param(make_pod("a").spec(containers=[{}]), f"{CONTAINER}.name: Required value", id="container without name"),
    pytest.param(
        make_pod("a").container(name="A"),
        f'{CONTAINER}.name: Invalid value: "A": a lowercase RFC 1123 label',
        id="container name",
    ),
    pytest.param(pod().container(name="c0"), 'spec.containers[1].name: Duplicate value: "c0"', id="container twice"),
    pytest.param(
        pod().init_container(name="c0"),
        'spec.initContainers[0].name: Duplicate value: "c0"',
        id="init container with a taken name",
    ),
    pytest.param(ports({}), f"{CONTAINER}.ports[0].containerPort: Required value", id="no container port"),
    pytest.param(
        ports({"containerPort": 65536}),
        f"{CONTAINER}.ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
        id="port",
    ),
    pytest.param(
        ports({"containerPort": 1, "hostPort": -1}),
        f"{CONTAINER}.ports[0].hostPort: Invalid value: -1: must be between",
        id="host port",
    ),
    pytest.param(
        ports({"containerPort": 1, "protocol": "ICMP"}),
        f'{CONTAINER}.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        id="protocol",
    ),
    pytest.param(
        ports({"containerPort": 1, "name": "p"}, {"containerPort": 2, "name": "p"}),
        f'{CONTAINER}.ports[1].name: Duplicate value: "p"',
        id="port name twice",
    ),
    pytest.param(
        ports({"containerPort": 1, "name": "80"}),
        f'{CONTAINER}.ports[0].name: Invalid value: "80": must contain at least one letter (a-z)',
        id="port name without letter",
    ),
    pytest.param(
        ports({"containerPort": 1, "name": "A"}),
        "must contain only alpha-numeric characters",
        id="port name with capitals",
    ),
    pytest.param(
        ports({"containerPort": 1, "name": "a--b"}),
        "must not contain consecutive hyphens",
        id="port name with two hyphens",
    ),
    pytest.param(
        ports({"containerPort": 1, "name": "-a"}),
        "must not begin or end with a hyphen",
        id="port name with a hyphen in front",
    ),
    pytest.param(
        ports({"containerPort": 1, "name": "a" * 16}), "must be no more than 15 characters", id="long port name"
    ),
    pytest.param(
        pod().host_port(80).host_port(80),
        f'{CONTAINER}.ports[1].hostPort: Duplicate value: "TCP//80"',
        id="host port twice",
    ),
    pytest.param(
        pod().req(cpu="-1"),
        f'{CONTAINER}.resources.requests[cpu]: Invalid value: "-1": {NOT_NEGATIVE}',
        id="negative request",
    ),
    pytest.param(
        pod().req({"-a": "1"}),
        f'{CONTAINER}.resources.requests[-a]: Invalid value: "-a": {LABELED}',
        id="resource name",
    ),
    pytest.param(
        pod().req(cpu="2").limit(cpu="1"),
        f'{CONTAINER}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        id="request above limit",
    ),
    pytest.param(
        pod().req({"a.io/x": "1"}).limit({"a.io/x": "2"}),
        f'{CONTAINER}.resources.requests: Invalid value: "1": must be equal to a.io/x limit of 2',
        id="extended below limit",
    ),
    pytest.param(
        pod().req({"a.io/x": "1"}),
        f"{CONTAINER}.resources.limits: Required value: Limit must be set for non overcommitable resources",
        id="extended without limit",
    ),
    pytest.param(
        pod().req({"a.io/x": "500m"}).limit({"a.io/x": "500m"}),
        f'{CONTAINER}.resources.limits[a.io/x]: Invalid value: "500m": must be an integer',
        id="half an extended resource",
    ),
    pytest.param(
        pod().pod_level({"a.io/x": "1"}),
        'spec.resources.requests[a.io/x]: Unsupported value: "a.io/x"',
        id="pod level resource",
    ),
    pytest.param(
        pod().spec(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        'spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        id="pod level above limit",
    ),
    pytest.param(
        pod().overhead(cpu="-1"),
        f'spec.overhead.limits[cpu]: Invalid value: "-1": {NOT_NEGATIVE}',
        id="negative overhead",
    ),
    pytest.param(
        pod().spec(restartPolicy="Maybe"),
        'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
        id="restart policy",
    ),
    pytest.param(
        pod().spec(preemptionPolicy="Maybe"),
        'spec.preemptionPolicy: Unsupported value: "Maybe"',
        id="preemption policy",
    ),
    pytest.param(
        pod().claim_volume("x", name="v").claim_volume("y", name="v"),
        'spec.volumes[1].name: Duplicate value: "v"',
        id="volume twice",
    ),
    pytest.param(
        pod().spec(resourceClaims=[{"name": "r"}, {"name": "r"}]),
        'spec.resourceClaims[1].name: Duplicate value: "r"',
        id="resource claim twice",
    ),
    pytest.param(pod().gate("a", "a"), 'spec.schedulingGates[1]: Duplicate value: "a"', id="gate twice"),
    pytest.param(pod().gate("a b"), f'spec.schedulingGates[0]: Invalid value: "a b": {LABELED}', id="gate name"),
    pytest.param(
        pod().gate("a").on("n"),
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        id="gated on a node",
    ),
    pytest.param(
        pod().node_selector(a="x y"),
        'spec.nodeSelector: Invalid value: "x y": a valid label must be',
        id="node selector",
    ),
    pytest.param(
        pod().required_node_affinity(),
        f"{NODE_TERMS}: Required value: must have at least one node selector term",
        id="no node terms",
    ),
    pytest.param(
        pod().required_node_affinity({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
        f'{NODE_TERMS}[0].matchExpressions[0].operator: Invalid value: "Near"',
        id="node operator",
    ),
    pytest.param(
        pod().preferred_node_affinity(0, {}),
        f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100",
        id="node weight",
    ),
    pytest.param(
        pod().preferred_node_affinity(1, {"matchFields": [{"key": "metadata.name", "operator": "In"}]}),
        f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference."
        "matchFields[0].values: Required value: must be only one value",
        id="preferred term",
    ),
    pytest.param(
        pod_term(topologyKey=""),
        f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey: Required value: can not be empty",
        id="no topology key",
    ),
    pytest.param(
        pod_term(topologyKey="a b"), f'{REQUIRED}[0].topologyKey: Invalid value: "a b": {LABELED}', id="topology key"
    ),
    pytest.param(pod_term(namespaces=["A"]), f'{REQUIRED}[0].namespace: Invalid value: "A"', id="namespace of a term"),
    pytest.param(
        pod_term(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}),
        f'spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator: Invalid value: "Near"',
        id="term selector",
    ),
    pytest.param(
        pod().pod_affinity("zone", {}, anti=True, weight=101),
        f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight: Invalid value: 101: must be in the range 1-100",
        id="pod weight",
    ),
    pytest.param(
        pod().toleration("a b", operator="Exists"),
        f'spec.tolerations[0].key: Invalid value: "a b": {LABELED}',
        id="toleration key",
    ),
    pytest.param(
        pod().toleration("", operator="Equal", value="x"),
        'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty',
        id="empty key",
    ),
    pytest.param(
        pod().toleration("a", operator="Exists", value="x"),
        "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
        id="exists with value",
    ),
    pytest.param(
        pod().toleration("a", operator="Gt"),
        'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists"',
        id="toleration operator",
    ),
    pytest.param(
        pod().toleration("a", value="x y"), 'spec.tolerations[0].operator: Invalid value: "x y"', id="toleration value"
    ),
    pytest.param(
        pod().toleration("a", effect="NoWay"),
        'spec.tolerations[0].effect: Unsupported value: "NoWay"',
        id="toleration effect",
    ),
    pytest.param(
        pod().toleration("a", effect="NoSchedule", seconds=5),
        'spec.tolerations[0].effect: Invalid value: "NoSchedule": '
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
        id="seconds",
    ),
    pytest.param(spread(maxSkew=0), f"{SPREAD}.maxSkew: Invalid value: 0: must be greater than zero", id="max skew"),
    pytest.param(spread(topologyKey=""), f"{SPREAD}.topologyKey: Required value: can not be empty", id="no spread key"),
    pytest.param(
        spread(whenUnsatisfiable="Maybe"), f'{SPREAD}.whenUnsatisfiable: Unsupported value: "Maybe"', id="spread action"
    ),
    pytest.param(
        spread(minDomains=0), f"{SPREAD}.minDomains: Invalid value: 0: must be greater than zero", id="min domains"
    ),
    pytest.param(
        spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
        f"{SPREAD}.minDomains: Invalid value: 1: "
        "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        id="soft min domains",
    ),
    pytest.param(
        spread(nodeTaintsPolicy="X"),
        f'{SPREAD}.nodeTaintsPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"',
        id="taints policy",
    ),
    pytest.param(
        spread(labelSelector={"matchLabels": {"a": "x y"}}),
        f'{SPREAD}.labelSelector.matchLabels: Invalid value: "x y"',
        id="spread selector",
    ),
    pytest.param(
        pod().spread("z", {}).spread("z", {}, max_skew=2),
        'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"',
        id="constraint twice",
    ),
]


@pytest.mark.parametrize(("builder", "message"), PODS)
def test_pod_is_refused(builder: PodBuilder, message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        validate(builder.manifest(), "Pod")
    assert message in "\n".join(f"{path}: {detail}" for path, detail in caught.value.problems)
    assert caught.value.path.startswith(("metadata", "spec"))


@pytest.mark.parametrize(
    "builder",
    [
        pytest.param(pod().req(cpu="1").limit(cpu="1"), id="request equal to limit"),
        pytest.param(pod().toleration("", operator="Exists"), id="tolerates everything"),
        pytest.param(pod().toleration("a", effect="NoExecute", seconds=0), id="evicted at once"),
        pytest.param(pod().host_port(80).host_port(80, protocol="UDP"), id="same port, other protocol"),
        pytest.param(pod().host_port(80).host_port(80, ip="10.0.0.1"), id="same port, other address"),
        pytest.param(spread(minDomains=1), id="hard min domains"),
        pytest.param(pod().spread("z", {}).spread("z", {}, when="ScheduleAnyway"), id="hard and soft on one key"),
        pytest.param(pod().label(a=""), id="empty label value"),
    ],
)
def test_sound_pod_is_accepted(builder: PodBuilder) -> None:
    validate(builder.manifest(), "Pod")


@pytest.mark.parametrize(
    ("name", "amount", "is_sound"),
    [
        pytest.param("hugepages-2Mi", "4Mi", True, id="two pages"),
        pytest.param("hugepages-2Mi", "1Mi", False, id="half a page"),
        pytest.param("hugepages-2Mi", "10E", True, id="too large for an int64, which counts as nothing"),
        pytest.param("hugepages-2Mi", "9223372036854775807", False, id="the largest int64"),
        pytest.param("hugepages-0", "1Mi", False, id="pages of no size"),
        pytest.param("hugepages-1m", "1Mi", False, id="pages of less than a byte"),
        pytest.param("hugepages-x", "1", False, id="no size"),
    ],
)
def test_huge_pages_come_whole(name: str, amount: str, is_sound: bool) -> None:
    resources = {"cpu": "1", name: amount}
    builder = make_pod("a").container(resources, limits=resources)
    if is_sound:
        validate(builder.manifest(), "Pod")
        return
    with pytest.raises(AdmissionError) as caught:
        validate(builder.manifest(), "Pod")
    problem = f'Invalid value: "{amount}": {amount} is not positive integer multiple of {name}'
    assert [problem in str(each) for _, each in caught.value.problems] == [True, True]


def test_all_problems_are_found() -> None:
    builder = make_pod("A").container(name="B").gate("a", "a")
    with pytest.raises(AdmissionError) as caught:
        validate(builder.manifest(), "Pod")
    assert [path for path, _ in caught.value.problems] == [
        "metadata.name",
        "spec.containers[0].name",
        "spec.schedulingGates[1]",
    ]
