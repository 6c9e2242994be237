"""Every refusal of a pod, with its path."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import PodBuilder, make_pod
from tests.cases import cases
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
    ("name", make_pod("A").container(), 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
    ("long name", make_pod("a" * 254).container(), "must be no more than 253 characters"),
    ("namespace", make_pod("a", namespace="a.b").container(),
     'metadata.namespace: Invalid value: "a.b": must not contain dots'),
    ("label key", pod().label({"-a": "x"}), f'metadata.labels: Invalid value: "-a": {LABELED}'),
    ("label value", pod().label(a="x y"), 'metadata.labels: Invalid value: "x y": a valid label must be'),
    ("annotation", pod().annotation({"a b": "x"}), f'metadata.annotations: Invalid value: "a b": {LABELED}'),
    ("no containers", make_pod("a").spec(containers=[]), "spec.containers: Required value"),
    ("container without name", make_pod("a").spec(containers=[{}]), f"{CONTAINER}.name: Required value"),
    ("container name", make_pod("a").container(name="A"),
     f'{CONTAINER}.name: Invalid value: "A": a lowercase RFC 1123 label'),
    ("container twice", pod().container(name="c0"), 'spec.containers[1].name: Duplicate value: "c0"'),
    ("init container with a taken name", pod().init_container(name="c0"),
     'spec.initContainers[0].name: Duplicate value: "c0"'),
    ("no container port", ports({}), f"{CONTAINER}.ports[0].containerPort: Required value"),
    ("port", ports({"containerPort": 65536}),
     f"{CONTAINER}.ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    ("host port", ports({"containerPort": 1, "hostPort": -1}),
     f"{CONTAINER}.ports[0].hostPort: Invalid value: -1: must be between"),
    ("protocol", ports({"containerPort": 1, "protocol": "ICMP"}),
     f'{CONTAINER}.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'),
    ("port name twice", ports({"containerPort": 1, "name": "p"}, {"containerPort": 2, "name": "p"}),
     f'{CONTAINER}.ports[1].name: Duplicate value: "p"'),
    ("port name without letter", ports({"containerPort": 1, "name": "80"}),
     f'{CONTAINER}.ports[0].name: Invalid value: "80": must contain at least one letter (a-z)'),
    ("port name with capitals", ports({"containerPort": 1, "name": "A"}), "must contain only alpha-numeric characters"),
    ("port name with two hyphens", ports({"containerPort": 1, "name": "a--b"}), "must not contain consecutive hyphens"),
    ("port name with a hyphen in front", ports({"containerPort": 1, "name": "-a"}),
     "must not begin or end with a hyphen"),
    ("long port name", ports({"containerPort": 1, "name": "a" * 16}), "must be no more than 15 characters"),
    ("host port twice", pod().host_port(80).host_port(80),
     f'{CONTAINER}.ports[1].hostPort: Duplicate value: "TCP//80"'),
    ("negative request", pod().req(cpu="-1"),
     f'{CONTAINER}.resources.requests[cpu]: Invalid value: "-1": {NOT_NEGATIVE}'),
    ("resource name", pod().req({"-a": "1"}), f'{CONTAINER}.resources.requests[-a]: Invalid value: "-a": {LABELED}'),
    ("request above limit", pod().req(cpu="2").limit(cpu="1"),
     f'{CONTAINER}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'),
    ("extended below limit", pod().req({"a.io/x": "1"}).limit({"a.io/x": "2"}),
     f'{CONTAINER}.resources.requests: Invalid value: "1": must be equal to a.io/x limit of 2'),
    ("extended without limit", pod().req({"a.io/x": "1"}),
     f"{CONTAINER}.resources.limits: Required value: Limit must be set for non overcommitable resources"),
    ("half an extended resource", pod().req({"a.io/x": "500m"}).limit({"a.io/x": "500m"}),
     f'{CONTAINER}.resources.limits[a.io/x]: Invalid value: "500m": must be an integer'),
    ("pod level resource", pod().pod_level({"a.io/x": "1"}),
     'spec.resources.requests[a.io/x]: Unsupported value: "a.io/x"'),
    ("pod level above limit", pod().spec(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
     'spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'),
    ("negative overhead", pod().overhead(cpu="-1"), f'spec.overhead.limits[cpu]: Invalid value: "-1": {NOT_NEGATIVE}'),
    ("restart policy", pod().spec(restartPolicy="Maybe"),
     'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"'),
    ("preemption policy", pod().spec(preemptionPolicy="Maybe"), 'spec.preemptionPolicy: Unsupported value: "Maybe"'),
    ("volume twice", pod().claim_volume("x", name="v").claim_volume("y", name="v"),
     'spec.volumes[1].name: Duplicate value: "v"'),
    ("resource claim twice", pod().spec(resourceClaims=[{"name": "r"}, {"name": "r"}]),
     'spec.resourceClaims[1].name: Duplicate value: "r"'),
    ("gate twice", pod().gate("a", "a"), 'spec.schedulingGates[1]: Duplicate value: "a"'),
    ("gate name", pod().gate("a b"), f'spec.schedulingGates[0]: Invalid value: "a b": {LABELED}'),
    ("gated on a node", pod().gate("a").on("n"),
     "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"),
    ("node selector", pod().node_selector(a="x y"), 'spec.nodeSelector: Invalid value: "x y": a valid label must be'),
    ("no node terms", pod().required_node_affinity(),
     f"{NODE_TERMS}: Required value: must have at least one node selector term"),
    ("node operator", pod().required_node_affinity({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
     f'{NODE_TERMS}[0].matchExpressions[0].operator: Invalid value: "Near"'),
    ("node weight", pod().preferred_node_affinity(0, {}),
     f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100"),
    ("preferred term", pod().preferred_node_affinity(1, {"matchFields": [{"key": "metadata.name", "operator": "In"}]}),
     f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference."
     "matchFields[0].values: Required value: must be only one value"),
    ("no topology key", pod_term(topologyKey=""),
     f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey: Required value: can not be empty"),
    ("topology key", pod_term(topologyKey="a b"), f'{REQUIRED}[0].topologyKey: Invalid value: "a b": {LABELED}'),
    ("namespace of a term", pod_term(namespaces=["A"]), f'{REQUIRED}[0].namespace: Invalid value: "A"'),
    ("term selector", pod_term(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}),
     f'spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator: Invalid value: "Near"'),
    ("pod weight", pod().pod_affinity("zone", {}, anti=True, weight=101),
     f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight: Invalid value: 101: must be in the range 1-100"),
    ("toleration key", pod().toleration("a b", operator="Exists"),
     f'spec.tolerations[0].key: Invalid value: "a b": {LABELED}'),
    ("empty key", pod().toleration("", operator="Equal", value="x"),
     'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty'),
    ("exists with value", pod().toleration("a", operator="Exists", value="x"),
     "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"),
    ("toleration operator", pod().toleration("a", operator="Gt"),
     'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists"'),
    ("toleration value", pod().toleration("a", value="x y"), 'spec.tolerations[0].operator: Invalid value: "x y"'),
    ("toleration effect", pod().toleration("a", effect="NoWay"),
     'spec.tolerations[0].effect: Unsupported value: "NoWay"'),
    ("seconds", pod().toleration("a", effect="NoSchedule", seconds=5),
     'spec.tolerations[0].effect: Invalid value: "NoSchedule": '
     "effect must be 'NoExecute' when `tolerationSeconds` is set"),
    ("max skew", spread(maxSkew=0), f"{SPREAD}.maxSkew: Invalid value: 0: must be greater than zero"),
    ("no spread key", spread(topologyKey=""), f"{SPREAD}.topologyKey: Required value: can not be empty"),
    ("spread action", spread(whenUnsatisfiable="Maybe"), f'{SPREAD}.whenUnsatisfiable: Unsupported value: "Maybe"'),
    ("min domains", spread(minDomains=0), f"{SPREAD}.minDomains: Invalid value: 0: must be greater than zero"),
    ("soft min domains", spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
     f"{SPREAD}.minDomains: Invalid value: 1: "
     "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"),
    ("taints policy", spread(nodeTaintsPolicy="X"),
     f'{SPREAD}.nodeTaintsPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"'),
    ("spread selector", spread(labelSelector={"matchLabels": {"a": "x y"}}),
     f'{SPREAD}.labelSelector.matchLabels: Invalid value: "x y"'),
    ("constraint twice", pod().spread("z", {}).spread("z", {}, max_skew=2),
     'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"'),
]  # fmt: skip


@cases("builder, message", *PODS)
def test_pod_is_refused(builder: PodBuilder, message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        validate(builder.manifest(), "Pod")
    assert message in "\n".join(f"{path}: {detail}" for path, detail in caught.value.problems)
    assert caught.value.path.startswith(("metadata", "spec"))


@cases(
    "builder",
    ("request equal to limit", pod().req(cpu="1").limit(cpu="1")),
    ("tolerates everything", pod().toleration("", operator="Exists")),
    ("evicted at once", pod().toleration("a", effect="NoExecute", seconds=0)),
    ("same port, other protocol", pod().host_port(80).host_port(80, protocol="UDP")),
    ("same port, other address", pod().host_port(80).host_port(80, ip="10.0.0.1")),
    ("hard min domains", spread(minDomains=1)),
    ("hard and soft on one key", pod().spread("z", {}).spread("z", {}, when="ScheduleAnyway")),
    ("empty label value", pod().label(a="")),
)
def test_sound_pod_is_accepted(builder: PodBuilder) -> None:
    validate(builder.manifest(), "Pod")


@cases(
    "name, amount, is_sound",
    ("two pages", "hugepages-2Mi", "4Mi", True),
    ("half a page", "hugepages-2Mi", "1Mi", False),
    ("too large for an int64, which counts as nothing", "hugepages-2Mi", "10E", True),
    ("the largest int64", "hugepages-2Mi", "9223372036854775807", False),
    ("pages of no size", "hugepages-0", "1Mi", False),
    ("pages of less than a byte", "hugepages-1m", "1Mi", False),
    ("no size", "hugepages-x", "1", False),
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
