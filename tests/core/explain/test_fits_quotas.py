"""Quotas that keep pods from being created: by how much they have to be enlarged, checked by admission itself."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler_core.admission.quotas import charged
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.errors import AdmissionError
from scheduler_core.explain.fits.quotas import enlarged
from tests.builders import make_pod

LIMITED = {"requests.cpu": "500m", "requests.memory": "1Gi", "pods": "1"}


def quota(name: str, hard: dict[str, str], used: dict[str, str], **spec: Any) -> dict[str, Any]:
    spec, status = {"hard": hard, **spec}, {"hard": hard, "used": used}
    return {"kind": "ResourceQuota", "metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status}


def are_admitted(quotas: list[dict[str, Any]], pods: list[dict[str, Any]]) -> bool:
    there = {each["metadata"]["name"]: each for each in quotas}
    try:
        for pod in pods:
            there |= {each["metadata"]["name"]: each for each in charged(list(there.values()), pod, None)}
    except AdmissionError:
        return False
    return True


def pod(name: str, cpu: str = "500m") -> dict[str, Any]:
    return {**make_pod(name).req(cpu=cpu, memory="1Gi").manifest(), "kind": "Pod"}


def with_hard(quotas: list[dict[str, Any]], name: str, field: str, text: str) -> list[dict[str, Any]]:
    def larger(each: dict[str, Any]) -> dict[str, Any]:
        hard = {**each["spec"]["hard"], field: text}
        return {**each, "spec": {**each["spec"], "hard": hard}, "status": {**each["status"], "hard": hard}}

    return [larger(each) if each["metadata"]["name"] == name else each for each in quotas]


@pytest.mark.parametrize("seed", range(40))
def test_quotas_are_enlarged_by_what_is_lacking(seed: int) -> None:
    draws = Random(seed)
    quotas = []
    for name in ("a", "b")[: draws.randint(1, 2)]:
        hard = {
            each: draws.choice(["0", "2", "4Gi", "10"]) for each in draws.sample(list(LIMITED), draws.randint(1, 3))
        }
        quotas.append(
            quota(name, hard, {each: draws.choice(["0", text]) for each, text in LIMITED.items() if each in hard})
        )
    pods = [pod(f"p{i}", draws.choice(["500m", "1500m"])) for i in range(draws.randint(1, 5))]
    found = enlarged(quotas, pods)
    assert (not found) == are_admitted(quotas, pods)
    larger = quotas
    for change in found:
        larger = with_hard(larger, change.of.partition("/")[2], change.field.removeprefix("spec.hard."), change.new)
    assert are_admitted(larger, pods)
    for change in found:
        name, field = change.of.partition("/")[2], change.field.removeprefix("spec.hard.")
        less = str(parse(change.new) - Quantity.of_milli(1))
        assert not are_admitted(with_hard(larger, name, field, less), pods)


def test_quotas_that_are_not_counted_or_about_others_are_left_alone() -> None:
    uncounted = {**quota("q", {"pods": "0"}, {}), "status": {}}
    best_effort = quota("b", {"pods": "0"}, {"pods": "0"}, scopes=["BestEffort"])
    assert enlarged([uncounted, best_effort], [pod("p")]) == ()
