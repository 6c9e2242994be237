"""Creation of pods: priority classes, tolerations, runtime classes."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.admission.priority import SYSTEM_CLASSES
from scheduler_core.errors import AdmissionError
from tests.builders import PodBuilder, make
from tests.cases import cases
from tests.core.admission.pods import created, fresh

CLASSES = {
    "high": make("PriorityClass", "high", value=100, preemptionPolicy="Never"),
    "normal": make("PriorityClass", "normal", value=10, globalDefault=True),
    "other-default": make("PriorityClass", "other-default", value=20, globalDefault=True),
}


@cases(
    "fields, classes, want",
    ("no class", {}, {}, ("", 0, "PreemptLowerPriority")),
    ("the lowest global default", {}, CLASSES, ("normal", 10, "PreemptLowerPriority")),
    ("policy of the class", {"priorityClassName": "high"}, CLASSES, ("high", 100, "Never")),
    ("same number given", {"priorityClassName": "high", "priority": 100}, CLASSES, ("high", 100, "Never")),
    ("built-in class", {"priorityClassName": "system-node-critical"}, {},
     ("system-node-critical", 2_000_001_000, "PreemptLowerPriority")),
)  # fmt: skip
def test_priority_comes_from_the_class(fields: dict[str, Any], classes: Any, want: tuple[str, int, str]) -> None:
    spec = created(fresh().container().spec(**fields), priority_classes=classes)["spec"]
    assert (spec.get("priorityClassName", ""), spec["priority"], spec["preemptionPolicy"]) == want


@cases(
    "fields, path, detail",
    ("unknown class", {"priorityClassName": "x"}, "spec.priorityClassName", "no PriorityClass with name x was found"),
    ("other number", {"priority": 5}, "spec.priority",
     "the integer value of priority (5) must not be provided in pod spec; priority "
     "admission controller computed 10 from the given PriorityClass name"),
    ("other policy", {"preemptionPolicy": "Never"}, "spec.preemptionPolicy",
     "the string value of PreemptionPolicy (Never) must not be provided"),
)  # fmt: skip
def test_priority_refuses(fields: dict[str, Any], path: str, detail: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        created(fresh().container().spec(**fields), priority_classes=CLASSES)
    assert caught.value.path == path and detail in caught.value.detail


def test_system_classes_have_upstreams_values() -> None:
    assert {name: one.value for name, one in SYSTEM_CLASSES.items()} == {
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }


NOT_READY = {
    "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
}  # fmt: skip


UNREACHABLE = {**NOT_READY, "key": "node.kubernetes.io/unreachable"}


@cases(
    "given, added",
    ("both", [], [NOT_READY, UNREACHABLE]),
    ("all taints tolerated", [{"operator": "Exists"}], []),
    ("another effect", [{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ("one by key", [{"key": NOT_READY["key"], "operator": "Exists"}], [UNREACHABLE]),
    ("another key", [{"key": "a", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
)
def test_tolerations_of_dead_nodes_are_added(given: list[dict[str, Any]], added: list[dict[str, Any]]) -> None:
    spec = created(fresh().container().spec(tolerations=given))["spec"]
    assert spec["tolerations"] == given + added


SANDBOX = make("RuntimeClass", "sandbox", handler="h", overhead={"podFixed": {"cpu": "250m", "memory": "120Mi"}},
               scheduling={"nodeSelector": {"runtime": "sandbox"},
                           "tolerations": [{"key": "sandbox", "operator": "Exists"}]})  # fmt: skip


PLAIN = make("RuntimeClass", "plain", handler="h")


RUNTIMES = {"sandbox": SANDBOX, "plain": PLAIN}


def test_runtime_class_brings_overhead_and_scheduling() -> None:
    pod = fresh().container().node_selector(disk="ssd").spec(runtimeClassName="sandbox")
    spec = created(pod, runtime_classes=RUNTIMES)["spec"]
    assert spec["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "sandbox"}
    assert {"key": "sandbox", "operator": "Exists"} in spec["tolerations"]
    same = fresh().container().overhead(cpu="0.25", memory="120Mi").spec(runtimeClassName="sandbox")
    assert created(same, runtime_classes=RUNTIMES)["spec"]["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    assert (
        "overhead" not in created(fresh().container().spec(runtimeClassName="plain"), runtime_classes=RUNTIMES)["spec"]
    )


@cases(
    "pod, message",
    ("unknown", fresh().container().spec(runtimeClassName="x"),
     'spec.runtimeClassName: Forbidden: pod rejected: RuntimeClass "x" not found'),
    ("other overhead", fresh().container().overhead(cpu="1").spec(runtimeClassName="sandbox"),
     "spec.overhead: Forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
    ("overhead without class", fresh().container().overhead(cpu="1"),
     "spec.overhead: Forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
    ("class without overhead", fresh().container().overhead(cpu="1").spec(runtimeClassName="plain"),
     "spec.overhead: Forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
    ("selector conflict", fresh().container().node_selector(runtime="bare").spec(runtimeClassName="sandbox"),
     "spec.nodeSelector: Forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = sandbox; "
     "pod.spec.nodeSelector[runtime] = bare"),
)  # fmt: skip
def test_runtime_class_refuses(pod: PodBuilder, message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        created(pod, runtime_classes=RUNTIMES)
    assert str(caught.value) == message
