"""What may change after creation, above all while a pod is gated."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import PodBuilder, make_manifest, make_node, make_pod
from tests.cases import cases
from tests.core.admission.context import create, update

Change = Callable[[dict[str, Any]], object]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


def requirement(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "Exists"}


def term(*keys: str) -> dict[str, Any]:
    return {"matchExpressions": [requirement(key) for key in keys]}


def changed(pod: PodBuilder, change: Change) -> dict[str, Any]:
    old = create(pod.manifest())
    new = copy.deepcopy(old)
    change(new["spec"])
    return update(old, new)


def plain() -> PodBuilder:
    return make_pod("a").req(cpu="1").image("x:1").toleration("a", operator="Exists")


def gated(*terms: dict[str, Any]) -> PodBuilder:
    pod = plain().gate("a", "b").node_selector(disk="ssd")
    return pod.required_node_affinity(*terms) if terms else pod


def set_terms(*terms: dict[str, Any]) -> Change:
    return lambda spec: spec.update(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}})


@cases(
    "pod, change",
    ("nothing", plain(), lambda s: None),
    ("image", plain(), lambda s: s["containers"][0].update(image="x:2")),
    ("more tolerations", plain(), lambda s: s["tolerations"].append({"key": "b", "operator": "Exists"})),
    ("toleration seconds", plain(), lambda s: s["tolerations"][-1].update(tolerationSeconds=5)),
    ("deadline set", plain(), lambda s: s.update(activeDeadlineSeconds=5)),
    ("deadline lowered", plain().spec(activeDeadlineSeconds=9), lambda s: s.update(activeDeadlineSeconds=5)),
    ("deadline as it was", plain().spec(activeDeadlineSeconds=9), lambda s: None),
    ("negative grace to 1", plain().spec(terminationGracePeriodSeconds=-5),
     lambda s: s.update(terminationGracePeriodSeconds=1)),
    ("an empty field is an absent one", plain(), lambda s: s.update(imagePullSecrets=[])),
    ("an empty field of a container is an absent one", plain(), lambda s: s["containers"][0].update(env=[])),
    ("any gate removed", gated(), lambda s: s["schedulingGates"].pop(0)),
    ("all gates removed", gated(), lambda s: s.update(schedulingGates=[])),
    ("gated: selector gains a key", gated(), lambda s: s["nodeSelector"].update(zone="a")),
    ("gated: affinity where there was none", gated(), set_terms(term("a"))),
    ("gated: a term gains a requirement", gated(term("a")), set_terms(term("a", "b"))),
    ("gated: a term gains a field", gated(term("a"), term("b")),
     set_terms(term("a"), {**term("b"), "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})),
)  # fmt: skip
def test_pod_may_change(pod: PodBuilder, change: Change) -> None:
    changed(pod, change)


ONLY_THESE = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
NARROWED = "only additions are allowed (no mutations or deletions)"


@cases(
    "pod, change, message",
    ("requests", plain(), lambda s: s["containers"][0]["resources"]["requests"].update(cpu="2"), ONLY_THESE),
    ("node name", plain(), lambda s: s.update(nodeName="n"), ONLY_THESE),
    ("priority", plain(), lambda s: s.update(priority=1), ONLY_THESE),
    ("selector of an ungated pod", plain(), lambda s: s.update(nodeSelector={"a": "b"}), ONLY_THESE),
    ("affinity of an ungated pod", plain(), set_terms(term("a")), ONLY_THESE),
    ("gated: pod affinity", gated(), lambda s: s.update(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "z"}]}}),
     ONLY_THESE),
    ("toleration removed", plain(), lambda s: s["tolerations"].pop(0),
     "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"),
    ("grace", plain(), lambda s: s.update(terminationGracePeriodSeconds=1), ONLY_THESE),
    ("deadline raised", plain().spec(activeDeadlineSeconds=5), lambda s: s.update(activeDeadlineSeconds=9),
     "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"),
    ("deadline removed", plain().spec(activeDeadlineSeconds=5), lambda s: s.pop("activeDeadlineSeconds"),
     "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"),
    ("new gate", gated(), lambda s: s["schedulingGates"].append({"name": "c"}),
     "spec.schedulingGates[2].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"),
    ("gate on an ungated pod", plain(), lambda s: s.update(schedulingGates=[{"name": "c"}]),
     "spec.schedulingGates[0].name: Forbidden: only deletion is allowed"),
    ("gated: selector changed", gated(), lambda s: s["nodeSelector"].update(disk="hdd"),
     'spec.nodeSelector: Invalid value: {"disk":"hdd"}: '
     "only additions to spec.nodeSelector are allowed (no mutations or deletions)"),
    ("gated: selector loses a key", gated(), lambda s: s["nodeSelector"].pop("disk"),
     "only additions to spec.nodeSelector are allowed"),
    ("gated: one more term would widen", gated(term("a")), set_terms(term("a"), term("b")), f"{TERMS}: Invalid value"),
    ("gated: terms removed", gated(term("a")), set_terms(), "must have at least one node selector term"),
    ("gated: requirement removed", gated(term("a", "b")), set_terms(term("a")), f"{TERMS}[0]: Invalid value"),
    ("gated: old requirements are no prefix", gated(term("a", "b")), set_terms(term("b", "a", "c")), NARROWED),
    ("gated: an empty term matches nothing and may gain nothing", gated({}), set_terms(term("a")), NARROWED),
)  # fmt: skip
def test_pod_may_not_change(pod: PodBuilder, change: Change, message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        changed(pod, change)
    assert message in str(caught.value)


def test_update_keeps_identity_and_counts_generations() -> None:
    old = create(plain().manifest())
    new = plain().manifest()
    new["spec"] = copy.deepcopy(old["spec"])
    new["metadata"] = {"name": "a", "namespace": "default", "labels": {"x": "y"}}
    same = update(old, new)
    assert same["metadata"]["uid"] == old["metadata"]["uid"]
    assert same["metadata"]["creationTimestamp"] == old["metadata"]["creationTimestamp"]
    assert same["metadata"]["generation"] == 1
    new["spec"]["containers"][0]["image"] = "x:2"
    assert update(old, new)["metadata"]["generation"] == 2
    new["metadata"]["uid"] = "other"
    with pytest.raises(AdmissionError, match='metadata.uid: Invalid value: "other": field is immutable'):
        update(old, new)


def test_pod_taken_over_without_defaults_may_be_updated() -> None:
    old = make_pod("a").req(cpu="1").created("2029-01-01T00:00:00Z").manifest()
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    assert update(old, new)["metadata"]["labels"] == {"a": "b"}


BOTH_LABELS = {"template": {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"containers": [{"name": "c"}]}}}


@cases(
    "old, fields, message",
    ("priority", make_manifest("PriorityClass", "p", value=1), {"value": 2},
     "value: Forbidden: may not be changed in an update."),
    ("policy", make_manifest("PriorityClass", "p", value=1), {"preemptionPolicy": "Never"},
     'preemptionPolicy: Invalid value: "Never": field is immutable'),
    ("storage class", make_manifest("StorageClass", "s", provisioner="p"),
     {"volumeBindingMode": "WaitForFirstConsumer"}, "volumeBindingMode: Invalid value"),
    ("selector", make_manifest("ReplicaSet", "r", spec={"selector": {"matchLabels": {"a": "b"}}, **BOTH_LABELS}),
     {"spec": {"selector": {"matchLabels": {"c": "d"}}, **BOTH_LABELS}}, "spec.selector: Invalid value"),
)  # fmt: skip
def test_immutable_fields(old: dict[str, Any], fields: dict[str, Any], message: str) -> None:
    stored = create(old)
    with pytest.raises(AdmissionError) as caught:
        update(stored, {**stored, **fields})
    assert message in str(caught.value)
    update(stored, {**stored, "description": "new"})


def test_node_may_be_changed_freely_but_soundly() -> None:
    old = create(make_node("n").manifest())
    new = copy.deepcopy(old)
    new["spec"]["taints"] = [{"key": "a", "effect": "NoSchedule"}]
    assert update(old, new)["spec"]["taints"] == new["spec"]["taints"]
    new["spec"]["taints"][0]["effect"] = "X"
    with pytest.raises(AdmissionError, match="Unsupported value"):
        update(old, new)
