"""Every version and kind of configurations and of plugin args: which are taken, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.errors import ConfigProblem
from tests.cases import cases

GROUP = "kubescheduler.config.k8s.io"
FORMER = ("v1beta3", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1")
KIND = "KubeSchedulerConfiguration"
WRITE = f"Write apiVersion: {GROUP}/v1"


def problems(version: str, kind: str = KIND, **fields: Any) -> list[ConfigProblem]:
    return list(config.examine({"apiVersion": version, "kind": kind, **fields}).problems)


def of_args(name: str, **args: Any) -> list[ConfigProblem]:
    return problems(f"{GROUP}/v1", profiles=[{"pluginConfig": [{"name": name, "args": args}]}])


@pytest.mark.parametrize("version", [*FORMER, "v2", "v1beta4", "__internal", "V1"])
def test_configuration_of_no_version_but_v1_is_taken(version: str) -> None:
    (problem,) = problems(f"{GROUP}/{version}")
    text = f'no kind "{KIND}" is registered for version "{GROUP}/{version}" in scheme '
    assert str(problem).startswith(text) and problem.expected == f"{GROUP}/v1"
    assert (problem.path, problem.found) == ("apiVersion", f"{GROUP}/{version}")


@pytest.mark.parametrize("name", sorted(ARGS_TYPES))
def test_args_of_no_version_but_v1_are_taken(name: str) -> None:
    assert not of_args(name) and not of_args(name, apiVersion=f"{GROUP}/v1", kind=f"{name}Args")
    assert not of_args(name, apiVersion="", kind=None)
    for version in FORMER:
        (problem,) = of_args(name, apiVersion=f"{GROUP}/{version}", kind=f"{name}Args")
        assert f'no kind "{name}Args" is registered for version "{GROUP}/{version}" in scheme ' in str(problem)
        assert problem.path == "profiles[0].pluginConfig[0].args.apiVersion" and problem.help


def test_args_of_a_former_version_are_read_for_what_else_is_wrong_with_them() -> None:
    first, second = of_args("VolumeBinding", apiVersion=f"{GROUP}/v1beta3", bindTimeoutSeconds=-1)
    assert (first.path[-10:], second.path[-18:]) == ("apiVersion", "bindTimeoutSeconds")


@cases(
    "version, told, not_told",
    ("the one before", "v1beta3", ["SelectorSpread", "NodeVolumeLimits"], ["multiPoint", "scoringStrategy"]),
    ("two before", "v1beta2", ["SelectorSpread", "InterPodAffinity 2", "multiPoint"], ["scoringStrategy"]),
    ("three before", "v1beta1", ["SelectorSpread", "multiPoint", "scoringStrategy"], ["unreserve"]),
    ("older ones", "v1alpha1", ["SelectorSpread", "multiPoint", "scoringStrategy", "unreserve", "algorithmSource"], []),
)
def test_refused_version_says_what_changed_since(version: str, told: list[str], not_told: list[str]) -> None:
    (problem,) = problems(f"{GROUP}/{version}")
    assert problem.help.splitlines()[:2] == [WRITE, f"What changed from {version} to v1:"]
    assert all(word in problem.help for word in told) and not any(word in problem.help for word in not_told)


def test_version_that_never_was_says_what_to_write_alone() -> None:
    assert [problem.help for problem in (*problems(f"{GROUP}/v2"), *problems("v1beta3"))] == [WRITE, WRITE]


def test_document_of_another_kind_says_what_to_give() -> None:
    (policy,) = problems("v1", "Policy")
    assert policy.expected == f"{GROUP}/v1, Kind={KIND}" and "predicates and priorities" in policy.help
    (wrapped,) = problems("v1", "ConfigMap", data={"note": "x", "my.yaml": f"kind: {KIND}"})
    assert "data[my.yaml]" in wrapped.help
    assert [problem.help for problem in problems("v1", "ConfigMap", data={"note": "x"})] == [""]
