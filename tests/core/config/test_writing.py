"""A configuration is shown in full, and as the difference to the one before."""

from __future__ import annotations

from typing import Any

from scheduler_core import config
from scheduler_core.config.writing import Change, changes, complete_text
from tests.cases import cases

HEAD: dict[str, Any] = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def profile(**fields: Any) -> dict[str, Any]:
    return {"profiles": [fields]}


EXTENDER = {"urlPrefix": "http://a", "tlsConfig": {"certData": "Yg==", "keyData": "Yw=="}}
OWN = {"yes": "no", "x": ["017", 1.5], "weight": 0, "name": None}
SETS = "profiles[default-scheduler].plugins"


@cases(
    "fields",
    ("the defaults", {}),
    ("names like numbers, args of one's own",
     {"profiles": [{"schedulerName": "0o17", "percentageOfNodesToScore": 0},
                   {"schedulerName": "1e3", "pluginConfig": [{"name": "Mine", "args": OWN}]}],
      "extenders": [{**EXTENDER, "httpTimeout": "300ms"}], "clientConnection": {"qps": 5}}),
)  # fmt: skip
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
    ("nothing", {}, {}, []),
    ("a field", {}, {"parallelism": 8}, [Change("parallelism", "changed", "16", "8")]),
    ("a default that was written", {"parallelism": 16}, {}, []),
    ("a plugin less, whose default args go with it", {},
     profile(plugins={"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}),
     [Change(f"{SETS}.multiPoint.enabled[VolumeBinding]", "removed"),
      Change(f"{SETS}.multiPoint.disabled[VolumeBinding]", "added")]),
    ("a plugin at a point", {}, profile(plugins={"score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}),
     [Change(f"{SETS}.score.enabled[NodeAffinity]", "added", "", '{"name":"NodeAffinity","weight":7}')]),
    ("a weight", {}, profile(plugins={"multiPoint": {"enabled": [{"name": "TaintToleration", "weight": 9}]}}),
     [Change(f"{SETS}.multiPoint.enabled[TaintToleration].weight", "changed", "3", "9")]),
    ("another order", profile(plugins={"score": {"enabled": [{"name": "A"}, {"name": "B"}]}}),
     profile(plugins={"score": {"enabled": [{"name": "B"}, {"name": "A"}]}}),
     [Change(f"{SETS}.score.enabled", "reordered", "A, B", "B, A")]),
    ("an arg, wherever the plugin's args stand", {},
     profile(pluginConfig=[{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]),
     [Change("profiles[default-scheduler].pluginConfig[NodeResourcesFit].args.scoringStrategy.type", "changed",
             "LeastAllocated", "MostAllocated")]),
    ("a profile", {}, {"profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "second"}]},
     [Change("profiles[second]", "added")]),
    ("an extender, and a key that is not shown", {"extenders": [EXTENDER]},
     {"extenders": [{**EXTENDER, "tlsConfig": {"certData": "Yg==", "keyData": "ZA=="}}, {"urlPrefix": "http://b"}]},
     [Change("extenders[http://a].tlsConfig.keyData", "changed", "…", "…"), Change("extenders[http://b]", "added")]),
    ("a field that has no default", {}, profile(percentageOfNodesToScore=30),
     [Change("profiles[default-scheduler].percentageOfNodesToScore", "added", "", "30")]),
]  # fmt: skip


@cases("before, after, want", *CASES)
def test_changes_are_few_and_true(before: dict[str, Any], after: dict[str, Any], want: list[Change]) -> None:
    assert changes(config.load({**HEAD, **before}), config.load({**HEAD, **after})) == want
