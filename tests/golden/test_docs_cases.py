"""The engine decides the worked examples of the Kubernetes documentation as the pages say."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml

from scheduler_core import config
from scheduler_core.admission import AdmissionContext, admit_create
from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.build import build
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from tests.golden.docs_cases import CASES, DocsCase

NOW = 1_900_000_000 * 1_000_000
ROOMY = {"capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"}}
UIDS = itertools.count(1)
PAUSE = [{"name": "pause", "image": "registry.k8s.io/pause:3.8"}]


def read(text: str, runtime_classes: str = "") -> list[KubeObject]:
    """The objects of a document, created in this order."""
    classes = [manifests.decode(_complete(each)) for each in yaml.safe_load_all(runtime_classes) if each]
    context = AdmissionContext(
        new_uid=lambda: f"uid-{next(UIDS)}",
        runtime_classes={each.name: each for each in classes},  # type: ignore[misc]
    )
    objects = []
    for manifest in yaml.safe_load_all(text):
        if manifest["kind"] == "Node":
            manifest.setdefault("status", ROOMY)
        elif manifest["kind"] == "Pod":
            manifest.setdefault("spec", {}).setdefault("containers", PAUSE)
        objects.append(manifests.decode(admit_create(_complete(manifest), manifest["kind"], context, now=NOW)))
    return objects


def _complete(manifest: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": manifests.KINDS[manifest["kind"]].api_version, **_texts(manifest)}


def _texts(value: Any) -> Any:
    """YAML reads `cpu: 8` as a number; quantities are texts."""
    if isinstance(value, dict):
        quantities = ("capacity", "limits", "podFixed")
        return {
            key: {name: str(amount) for name, amount in item.items()} if key in quantities else _texts(item)
            for key, item in value.items()
        }
    return [_texts(item) for item in value] if isinstance(value, list) else value


def step(made: Scheduler, *objects: KubeObject, cycles: int = 100) -> Effects:
    changes: list[Change] = [ObjectPut(obj) for obj in objects]
    return made.step(NOW, changes, Budget(cycles))


def names(attempt: Attempt) -> tuple[str, ...]:
    assert attempt.node_order is not None
    return attempt.node_order.names


def refusals(attempt: Attempt) -> dict[str, str]:
    """Reason by node, of the nodes refused."""
    rows = attempt.filter_rows
    assert rows is not None
    found = zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True)
    return {names(attempt)[node]: rows.statuses[code - 1].message for node, code in found if code}


def scores(attempt: Attempt, plugin: str) -> dict[str, int]:
    """What the plugin gave each feasible node, normalised, before its weight."""
    rows = attempt.score_rows
    assert rows is not None and attempt.feasible is not None
    column = [name for name, _ in rows.plugins].index(plugin)
    feasible = [names(attempt)[node] for node in attempt.feasible.tolist()]
    return dict(zip(feasible, rows.normalized[column].tolist(), strict=True))


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "row"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_of_the_documentation(case: DocsCase, use_table: bool) -> None:
    made = build(config.load(case.configuration or None), draws=FirstDraws(), use_table=use_table)
    step(made, *read(case.cluster), cycles=0)
    (attempt,) = step(made, *read(case.pod, case.runtime_classes)).attempts
    if case.goes_to:
        assert (attempt.result, attempt.node_name in case.goes_to) == ("scheduled", True)
    else:
        assert (attempt.result, attempt.node_name) == ("unschedulable", "")
    assert refusals(attempt) == case.refused
    assert attempt.message.startswith(case.message)
    for plugin, wanted in case.scores.items():
        assert scores(attempt, plugin) == wanted
