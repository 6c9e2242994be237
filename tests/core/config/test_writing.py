"""A configuration is shown in full, and as the difference to the one before."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.config.writing import Change, changes, complete_text

HEAD: dict[str, Any] = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def profile(**fields: Any) -> dict[str, Any]:
    return {"profiles": [fields]}


EXTENDER = {"urlPrefix": "http://a", "tlsConfig": {"certData": "Yg==", "keyData": "Yw=="}}
OWN = {"yes": "no", "x": ["017", 1.5], "weight": 0, "name": None}
SETS = "profiles[default-scheduler].plugins"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="the defaults"),
        pytest.param(
            {
                "profiles": [
                    {"schedulerName": "0o17", "percentageOfNodesToScore": 0},
                    {
                        "schedulerName": "1e3",
                        "pluginConfig": [{"name": "Mine", "args": OWN}],
                    },
                ],
                "extenders": [{**EXTENDER, "httpTimeout": "300ms"}],
                "clientConnection": {"qps": 5},
            },
            id="names like numbers, args of one's own",
        ),
    ],
)
def test_complete_text_is_read_back_as_the_same(fields: dict[str, Any]) -> None:
    loaded = config.load({**HEAD, **fields})
    text = complete_text(loaded)
    assert config.load(text) == loaded
    assert complete_text(config.load(text)) == text


def test_complete_text_shows_defaults_and_nothing_that_says_nothing() -> None:
    lines = complete_text(config.load()).splitlines()
    assert lines[:3] == [
        "apiVersion: kubescheduler.config.k8s.io/v1",
        "kind: KubeSchedulerConfiguration",
        "parallelism: 16",
    ]
    for line in ("  leaseDuration: 15s", "    filter: {}", "      - name: TaintToleration", "        weight: 3"):
        assert line in lines
    assert not [line for line in lines if "null" in line or "&id" in line]


CASES = [
    pytest.param({}, {}, [], id="nothing"),
    pytest.param({}, {"parallelism": 8}, [Change("parallelism", "changed", "16", "8")], id="a field"),
    pytest.param({"parallelism": 16}, {}, [], id="a default that was written"),
    pytest.param(
        {},
        profile(plugins={"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}),
        [
            Change(f"{SETS}.multiPoint.enabled[VolumeBinding]", "removed"),
            Change(f"{SETS}.multiPoint.disabled[VolumeBinding]", "added"),
        ],
        id="a plugin less, whose default args go with it",
    ),
    pytest.param(
        {},
        profile(plugins={"score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}),
        [Change(f"{SETS}.score.enabled[NodeAffinity]", "added", "", '{"name":"NodeAffinity","weight":7}')],
        id="a plugin at a point",
    ),
    pytest.param(
        {},
        profile(plugins={"multiPoint": {"enabled": [{"name": "TaintToleration", "weight": 9}]}}),
        [Change(f"{SETS}.multiPoint.enabled[TaintToleration].weight", "changed", "3", "9")],
        id="a weight",
    ),
    pytest.param(
        profile(plugins={"score": {"enabled": [{"name": "A"}, {"name": "B"}]}}),
        profile(plugins={"score": {"enabled": [{"name": "B"}, {"name": "A"}]}}),
        [Change(f"{SETS}.score.enabled", "reordered", "A, B", "B, A")],
        id="another order",
    ),
    pytest.param(
        {},
        profile(pluginConfig=[{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]),
        [
            Change(
                "profiles[default-scheduler].pluginConfig[NodeResourcesFit].args.scoringStrategy.type",
                "changed",
                "LeastAllocated",
                "MostAllocated",
            )
        ],
        id="an arg, wherever the plugin's args stand",
    ),
    pytest.param(
        {},
        {"profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "second"}]},
        [Change("profiles[second]", "added")],
        id="a profile",
    ),
    pytest.param(
        {"extenders": [EXTENDER]},
        {"extenders": [{**EXTENDER, "tlsConfig": {"certData": "Yg==", "keyData": "ZA=="}}, {"urlPrefix": "http://b"}]},
        [
            Change("extenders[http://a].tlsConfig.keyData", "changed", "…", "…"),
            Change("extenders[http://b]", "added"),
        ],
        id="an extender, and a key that is not shown",
    ),
    pytest.param(
        {},
        profile(percentageOfNodesToScore=30),
        [Change("profiles[default-scheduler].percentageOfNodesToScore", "added", "", "30")],
        id="a field that has no default",
    ),
]


@pytest.mark.parametrize(("before", "after", "want"), CASES)
def test_changes_are_few_and_true(before: dict[str, Any], after: dict[str, Any], want: list[Change]) -> None:
    assert changes(config.load({**HEAD, **before}), config.load({**HEAD, **after})) == want
