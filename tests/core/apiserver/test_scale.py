"""The Scale of a controller of pods."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.scale import scale_of, scaled
from scheduler_core.errors import AdmissionError
from tests.cases import cases

STORED: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}},
    "spec": {"replicas": 3},
}


def test_scale_has_the_identity_and_the_replicas() -> None:
    scale = scale_of({**STORED, "status": {"replicas": 2}})
    assert scale["metadata"] == {"name": "web", "namespace": "shop"}
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": ""})
    assert scale_of({**STORED, "spec": {"replicas": 0}})["spec"] == {}


@cases(
    "selector, text",
    ("of a ReplicationController", {"tier": "b", "app": "a"}, "app=a,tier=b"),
    ("labels", {"matchLabels": {"tier": "b", "app": "a"}}, "app=a,tier=b"),
    ("expressions",
     {"matchExpressions": [{"key": "z", "operator": "In", "values": ["2", "1"]},
                           {"key": "y", "operator": "NotIn", "values": ["3"]}, {"key": "x", "operator": "Exists"},
                           {"key": "w", "operator": "DoesNotExist"}]}, "!w,x,y notin (3),z in (1,2)"),
)  # fmt: skip
def test_selector_is_written_as_a_query(selector: dict[str, Any], text: str) -> None:
    assert scale_of({**STORED, "spec": {"selector": selector}})["status"]["selector"] == text


@pytest.mark.parametrize("replicas", ["2", True, 1.5, None, -1])
def test_replicas_are_a_number_from_0_on(replicas: Any) -> None:
    with pytest.raises(AdmissionError) as refused:
        scaled(STORED, {"spec": {"replicas": replicas}})
    assert refused.value.path == "spec.replicas"


@pytest.mark.parametrize("scale", [{}, {"spec": None}, {"spec": {}}])
def test_scale_without_replicas_means_none(scale: dict[str, Any]) -> None:
    assert scaled(STORED, scale)["spec"]["replicas"] == 0
