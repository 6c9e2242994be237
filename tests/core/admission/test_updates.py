"""What may change after creation, above all while a pod is gated."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import PodBuilder, make_manifest, make_node, make_pod
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


@pytest.mark.parametrize(
    ("pod", "change"),
    [
        pytest.param(plain(), lambda s: None, id="nothing"),
        pytest.param(plain(), lambda s: s["containers"][0].update(image="x:2"), id="image"),
        pytest.param(
            plain(), lambda s: s["tolerations"].append({"key": "b", "operator": "Exists"}), id="more tolerations"
        ),
        pytest.param(plain(), lambda s: s["tolerations"][-1].update(tolerationSeconds=5), id="toleration seconds"),
        pytest.param(plain(), lambda s: s.update(activeDeadlineSeconds=5), id="deadline set"),
        pytest.param(
            plain().spec(activeDeadlineSeconds=9), lambda s: s.update(activeDeadlineSeconds=5), id="deadline lowered"
        ),
        pytest.param(plain().spec(activeDeadlineSeconds=9), lambda s: None, id="deadline as it was"),
        pytest.param(
            plain().spec(terminationGracePeriodSeconds=-5),
            lambda s: s.update(terminationGracePeriodSeconds=1),
            id="negative grace to 1",
        ),
        pytest.param(plain(), lambda s: s.update(imagePullSecrets=[]), id="an empty field is an absent one"),
        pytest.param(
            plain(), lambda s: s["containers"][0].update(env=[]), id="an empty field of a container is an absent one"
        ),
        pytest.param(gated(), lambda s: s["schedulingGates"].pop(0), id="any gate removed"),
        pytest.param(gated(), lambda s: s.update(schedulingGates=[]), id="all gates removed"),
        pytest.param(gated(), lambda s: s["nodeSelector"].update(zone="a"), id="gated: selector gains a key"),
        pytest.param(gated(), set_terms(term("a")), id="gated: affinity where there was none"),
        pytest.param(gated(term("a")), set_terms(term("a", "b")), id="gated: a term gains a requirement"),
        pytest.param(
            gated(term("a"), term("b")),
            set_terms(
                term("a"), {**term("b"), "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
            ),
            id="gated: a term gains a field",
        ),
    ],
)
def test_pod_may_change(pod: PodBuilder, change: Change) -> None:
    changed(pod, change)


ONLY_THESE = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
NARROWED = "only additions are allowed (no mutations or deletions)"


@pytest.mark.parametrize(
    ("pod", "change", "message"),
    [
        pytest.param(
            plain(), lambda s: s["containers"][0]["resources"]["requests"].update(cpu="2"), ONLY_THESE, id="requests"
        ),
        pytest.param(plain(), lambda s: s.update(nodeName="n"), ONLY_THESE, id="node name"),
        pytest.param(plain(), lambda s: s.update(priority=1), ONLY_THESE, id="priority"),
        pytest.param(plain(), lambda s: s.update(nodeSelector={"a": "b"}), ONLY_THESE, id="selector of an ungated pod"),
        pytest.param(plain(), set_terms(term("a")), ONLY_THESE, id="affinity of an ungated pod"),
        pytest.param(
            gated(),
            lambda s: s.update(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "z"}]}}),
            ONLY_THESE,
            id="gated: pod affinity",
        ),
        pytest.param(
            plain(),
            lambda s: s["tolerations"].pop(0),
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
            id="toleration removed",
        ),
        pytest.param(plain(), lambda s: s.update(terminationGracePeriodSeconds=1), ONLY_THESE, id="grace"),
        pytest.param(
            plain().spec(activeDeadlineSeconds=5),
            lambda s: s.update(activeDeadlineSeconds=9),
            "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value",
            id="deadline raised",
        ),
        pytest.param(
            plain().spec(activeDeadlineSeconds=5),
            lambda s: s.pop("activeDeadlineSeconds"),
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
            id="deadline removed",
        ),
        pytest.param(
            gated(),
            lambda s: s["schedulingGates"].append({"name": "c"}),
            "spec.schedulingGates[2].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
            id="new gate",
        ),
        pytest.param(
            plain(),
            lambda s: s.update(schedulingGates=[{"name": "c"}]),
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed",
            id="gate on an ungated pod",
        ),
        pytest.param(
            gated(),
            lambda s: s["nodeSelector"].update(disk="hdd"),
            'spec.nodeSelector: Invalid value: {"disk":"hdd"}: '
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            id="gated: selector changed",
        ),
        pytest.param(
            gated(),
            lambda s: s["nodeSelector"].pop("disk"),
            "only additions to spec.nodeSelector are allowed",
            id="gated: selector loses a key",
        ),
        pytest.param(
            gated(term("a")),
            set_terms(term("a"), term("b")),
            f"{TERMS}: Invalid value",
            id="gated: one more term would widen",
        ),
        pytest.param(
            gated(term("a")),
            set_terms(),
            "must have at least one node selector term",
            id="gated: terms removed",
        ),
        pytest.param(
            gated(term("a", "b")), set_terms(term("a")), f"{TERMS}[0]: Invalid value", id="gated: requirement removed"
        ),
        pytest.param(
            gated(term("a", "b")), set_terms(term("b", "a", "c")), NARROWED, id="gated: old requirements are no prefix"
        ),
        pytest.param(
            gated({}), set_terms(term("a")), NARROWED, id="gated: an empty term matches nothing and may gain nothing"
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("old", "fields", "message"),
    [
        pytest.param(
            make_manifest("PriorityClass", "p", value=1),
            {"value": 2},
            "value: Forbidden: may not be changed in an update.",
            id="priority",
        ),
        pytest.param(
            make_manifest("PriorityClass", "p", value=1),
            {"preemptionPolicy": "Never"},
            'preemptionPolicy: Invalid value: "Never": field is immutable',
            id="policy",
        ),
        pytest.param(
            make_manifest("StorageClass", "s", provisioner="p"),
            {"volumeBindingMode": "WaitForFirstConsumer"},
            "volumeBindingMode: Invalid value",
            id="storage class",
        ),
        pytest.param(
            make_manifest(
                "ReplicaSet",
                "r",
                spec={
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"containers": [{"name": "c"}]}},
                },
            ),
            {
                "spec": {
                    "selector": {"matchLabels": {"c": "d"}},
                    "template": {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"containers": [{"name": "c"}]}},
                }
            },
            "spec.selector: Invalid value",
            id="selector",
        ),
    ],
)
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
