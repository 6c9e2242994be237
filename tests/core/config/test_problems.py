"""All problems of a configuration in one report, each where it stands in the text; YAML and JSON alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from scheduler_core import config
from scheduler_core.build import problems_of
from scheduler_core.errors import ConfigError, ConfigProblem
from tests.cases import cases

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
JSON_HEAD = '{\n"apiVersion": "kubescheduler.config.k8s.io/v1",\n"kind": "KubeSchedulerConfiguration",\n'
SCHEME = 'scheme "pkg/scheduler/apis/config/scheme/scheme.go:30"'
V1, OLD = "kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3"
STARTING = "initializing profiles: creating profile for scheduler name "


def everything(text: str | dict[str, Any]) -> tuple[ConfigProblem, ...]:
    """What is told of a text: by the configuration alone, and by what is to be built of it."""
    examined = config.examine(text)
    if examined.is_readable:
        examined.add(problems_of(examined.config))
    return examined.problems


def told(text: str) -> list[tuple[int, str, str]]:
    return [(problem.line, problem.path, problem.message) for problem in everything(text)]


MANY_FAULTS = (
    HEAD
    + """\
parallelism: many
podInitialBackoffSeconds: 20
profilez: []
leaderElection:
  leaseDuration: 15
  retryPeriod: 0.5s
  renewDeadline: -1s
profiles:
- schedulerName: one
  percentageOfNodesToScore: 101
  plugins:
    filter:
      enabled:
      - name: NodeName
      - name: Nope
      - {name: ImageLocality}
    score:
      disabled:
        name: "*"
    multiPoint:
      enabled:
      - name: Lamp
        weight: heavy
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: Most
        resources:
        - name: cpu
          weight: 101
  - name: InterPodAffinity
    args:
      hardPodAffinityWeight: 101
      hardPodAffinityWait: 1
  - name: PodTopologySpread
    args:
      defaultConstraints:
      - maxSkew: 0
        topologyKey: zone
- schedulerName: one
  pluginConfig:
    NodeAffinity: {}
"""
)
ARGS = "profiles[0].pluginConfig"
MANY = [
    (3, "parallelism", "expected an integer, got text ('many')"),
    (4, "podMaxBackoffSeconds", "Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"),
    (5, "profilez", 'strict decoding error: unknown field "profilez"'),
    (7, "leaderElection.leaseDuration", "expected a duration such as 15s (15)"),
    (9, "leaderElection.renewDeadline", 'Invalid value: "-1s": must be greater than zero'),
    (12, "profiles[0].percentageOfNodesToScore", "Invalid value: 101: not in valid range [0-100]"),
    (17, "profiles[0].plugins.filter.enabled[1]", f'{STARTING}one: FilterPlugin "Nope" does not exist'),
    (18, "profiles[0].plugins.filter.enabled[2]",
     f'{STARTING}one: plugin "ImageLocality" does not extend FilterPlugin plugin'),
    (20, "profiles[0].plugins.score.disabled", "expected a list, got an object"),
    (24, "profiles[0].plugins.multiPoint.enabled[0]", f'{STARTING}one: PreEnqueuePlugin "Lamp" does not exist'),
    (25, "profiles[0].plugins.multiPoint.enabled[0].weight", "expected an integer, got text ('heavy')"),
    (30, f"{ARGS}[0].args.scoringStrategy.type",
     'Unsupported value: "Most": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'),
    (33, f"{ARGS}[0].args.scoringStrategy.resources[0].weight",
     "Invalid value: 101: resource weight of cpu not in valid range (0, 100]"),
    (36, f"{ARGS}[1].args.hardPodAffinityWeight", "Invalid value: 101: not in valid range [0, 100]"),
    (37, f"{ARGS}[1].args.hardPodAffinityWait",
     'decoding args for plugin InterPodAffinity: strict decoding error: unknown field "hardPodAffinityWait"'),
    (41, f"{ARGS}[2].args.defaultConstraints[0].whenUnsatisfiable",
     "decoding args for plugin PodTopologySpread: defaultConstraints[0].whenUnsatisfiable: is required"),
    (43, "profiles[1].schedulerName", 'Duplicate value: "profiles[0].schedulerName"'),
    (44, "profiles[1].pluginConfig", "expected a list, got an object"),
]  # fmt: skip


def test_every_fault_of_a_text_is_told_at_once_with_its_line() -> None:
    assert told(MANY_FAULTS) == MANY


def in_json(lines: str) -> str:
    return JSON_HEAD + lines + "}"


CASES = [
    ("JSON, a field twice among others",
     in_json('"parallelism": "x",\n"profiles": [\n{"schedulerName": 1,\n"plugin": {}}\n],\n"parallelism": 0\n'),
     [(6, "profiles[0].schedulerName", "expected text, got an integer (1)"),
      (7, "profiles[0].plugin", 'strict decoding error: unknown field "profiles[0].plugin"'),
      (9, "parallelism", 'strict decoding error: duplicate field "parallelism"'),
      (9, "parallelism", "Invalid value: 0: should be an integer value greater than zero")]),
    ("YAML, two fields twice among others",
     HEAD + "parallelism: 1\nparallelism: 2\nextender: []\n" + "podInitialBackoffSeconds: 0\n" * 2,
     [(4, "parallelism", 'strict decoding error: line 4: key "parallelism" already set in map'),
      (5, "extender", 'strict decoding error: unknown field "extender"'),
      (7, "podInitialBackoffSeconds",
       'strict decoding error: line 7: key "podInitialBackoffSeconds" already set in map'),
      (7, "podInitialBackoffSeconds", "Invalid value: 0: must be greater than 0")]),
    ("numbers that cannot be kept are not judged as well",
     in_json('"parallelism": 1e999,\n"clientConnection": {\n"burst": -1,\n"qps": NaN}\n'),
     [(4, "parallelism", "1e999 is no number that JSON knows"),
      (6, "clientConnection.burst", "Invalid value: -1: must be non-negative"),
      (7, "clientConnection.qps", "NaN is no number that JSON knows")]),
    ("texts that cannot be stored",
     in_json('"profiles": [{"schedulerName": "a\\u0000"},\n{"schedulerName": "\\ud800"}]\n'),
     [(4, "profiles[0].schedulerName", "has a character of code 0"),
      (5, "profiles[1].schedulerName", "has half a character (a surrogate without its other half)")]),
    ("what is missing stands where it would", "# a comment\nkind: KubeSchedulerConfiguration\nparallelism: 0\n",
     [(2, "apiVersion", "Required value"),
      (3, "parallelism", "Invalid value: 0: should be an integer value greater than zero")]),
    ("what an alias repeats stands at its anchor",
     HEAD + "profiles:\n- schedulerName: &name a\n  plugins: &sets\n    bind:\n      enabled: [{name: Nope}]\n"
     "- schedulerName: b\n  plugins: *sets\n- schedulerName: *name\n",
     [(7, "profiles[0].plugins.bind.enabled[0]", f'{STARTING}a: BindPlugin "Nope" does not exist'),
      (7, "profiles[1].plugins.bind.enabled[0]", f'{STARTING}b: BindPlugin "Nope" does not exist'),
      (10, "profiles[2].schedulerName", 'Duplicate value: "profiles[0].schedulerName"')]),
    ("wrong shapes", HEAD + "profiles: {default-scheduler: {}}\nextenders: [1, {weight: x, httpTimeout: soon}]\n",
     [(3, "profiles", "expected a list, got an object"),
      (4, "extenders[0]", "expected an object, got an integer (1)"),
      (4, "extenders[1].weight", "expected an integer, got text ('x')"),
      (4, "extenders[1].httpTimeout", "time: invalid duration \"soon\" ('soon')"),
      (4, "extenders", "couldn't build extenders: there is no way to reach them here")]),
    ("args of several plugins",
     HEAD + "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: [1]\n  - name: NodeAffinity\n"
     "    args: {kind: FooArgs}\n  - name: NodeResourcesFit\n  - name: VolumeBinding\n    args:\n"
     "      bindTimeoutSeconds: -1\n      shape: {}\n",
     [(6, f"{ARGS}[0].args", "decoding args for plugin NodeResourcesFit: expected an object"),
      (8, f"{ARGS}[1].args.kind",
       f'decoding args for plugin NodeAffinity: no kind "FooArgs" is registered for version "{V1}" in {SCHEME}'),
      (9, f"{ARGS}[2]", 'Duplicate value: "NodeResourcesFit"'),
      (12, f"{ARGS}[3].args.bindTimeoutSeconds",
       "Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"),
      (13, f"{ARGS}[3].args.shape", "decoding args for plugin VolumeBinding: shape: expected a list, got an object")]),
    ("items keep their numbers beside one that is refused",
     HEAD + "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n"
     "      ignoredResources: [cpu, 5, -x]\n      ignoredResourceGroups: [a/b, {}]\n",
     [(7, f"{ARGS}[0].args.ignoredResources[1]",
       "decoding args for plugin NodeResourcesFit: ignoredResources[1]: expected text, got an integer (5)"),
      (7, f"{ARGS}[0].args.ignoredResources[2]",
       'Invalid value: "-x": name part must consist of alphanumeric '
       "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
       "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"),
      (8, f"{ARGS}[0].args.ignoredResourceGroups[1]",
       "decoding args for plugin NodeResourcesFit: ignoredResourceGroups[1]: expected text, got an object"),
      (8, f"{ARGS}[0].args.ignoredResourceGroups[0]",
       "Invalid value: \"a/b\": resource group name can't contain '/'")]),
    ("nothing is compared with a default that stands for what was refused",
     HEAD + "leaderElection:\n  leaseDuration: 8s\n  renewDeadline: 5\npodMaxBackoffSeconds: 5\n"
     "podInitialBackoffSeconds: '10'\n",
     [(5, "leaderElection.renewDeadline", "expected a duration such as 15s (5)"),
      (7, "podInitialBackoffSeconds", "expected an integer, got text ('10')")]),
    ("another kind has other fields", "kind: Pod\napiVersion: v1\nspec: {}\n",
     [(1, "kind", f'no kind "Pod" is registered for version "v1" in {SCHEME}')]),
    ("another version has much the same fields", HEAD.replace("/v1", "/v1beta3") + "parallelism: 0\n",
     [(1, "apiVersion", f'no kind "KubeSchedulerConfiguration" is registered for version "{OLD}" in {SCHEME}'),
      (3, "parallelism", "Invalid value: 0: should be an integer value greater than zero")]),
    ("YAML that cannot be parsed", HEAD + "profiles:\n- a: [\n",
     [(5, "", "cannot be read as YAML or JSON: line 5: is not sound YAML: did not find expected node content")]),
    ("JSON that cannot be parsed", JSON_HEAD + '"profiles": [,]}',
     [(4, "", "cannot be read as YAML or JSON: Expecting value: line 4 column 14 (char 101)")]),
    ("nothing is wrong", HEAD, []),
]  # fmt: skip


@cases("text, want", *CASES)
def test_problems_are_told_where_they_stand(text: str, want: list[tuple[int, str, str]]) -> None:
    assert told(text) == want


@cases(
    "text, found, expected",
    ("pluginConfig as a map", HEAD + "profiles: [{pluginConfig: {NodeAffinity: {}}}]", "an object",
     "a list of objects (name, args)"),
    ("a profile that is a text", HEAD + "profiles: [x]", "text ('x')",
     "an object (schedulerName, percentageOfNodesToScore, plugins, pluginConfig)"),
    ("a percentage", HEAD + "percentageOfNodesToScore: 40%", "text ('40%')", "an integer"),
    ("nearly a field", HEAD + "profiles: [{schedulerNam: a}]", "schedulerNam", "schedulerName"),
    ("no field", HEAD + "zzz: 1", "zzz",
     "one of parallelism, leaderElection, clientConnection, enableProfiling, "
     "enableContentionProfiling, percentageOfNodesToScore, podInitialBackoffSeconds, "
     "podMaxBackoffSeconds, profiles, extenders, delayCacheUntilActive"),
    ("a duration", HEAD + "leaderElection: {leaseDuration: 1 s}", '"1 s"', "a duration such as 15s"),
    ("a value", HEAD + "parallelism: 0", "0", "should be an integer value greater than zero"),
    ("nearly a plugin", HEAD + "profiles: [{plugins: {filter: {enabled: [{name: NodeNam}]}}}]", "NodeNam", "NodeName"),
    ("no plugin", HEAD + "profiles: [{plugins: {filter: {enabled: [{name: Zzz}]}}}]", "Zzz", "an installed plugin"),
)  # fmt: skip
def test_problem_says_what_was_found_and_what_is_expected(text: str, found: str, expected: str) -> None:
    (problem,) = everything(text)
    assert (problem.found, problem.expected) == (found, expected)


@cases(
    "fields, path, expected",
    ("beside what it stands in", "profiles: [{plugins: {pluginConfig: []}}]", "profiles[0].plugins.pluginConfig",
     "profiles[0].pluginConfig"),
    ("of the top", "profiles: [{extenders: []}]", "profiles[0].extenders", "extenders at the top"),
    ("of a former version", "bindTimeoutSeconds: 600", "bindTimeoutSeconds",
     "bindTimeoutSeconds in the args of VolumeBinding"),
    ("a point of a former version", "profiles: [{plugins: {unreserve: {}}}]", "profiles[0].plugins.unreserve",
     "reserve, whose plugins also undo what they reserved"),
    ("a plugin of a former version",
     "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}}]",
     "profiles[0].plugins.score.enabled[0]",
     "NodeResourcesFit with scoringStrategy.type MostAllocated in its args"),
)  # fmt: skip
def test_field_that_stands_elsewhere_or_stood_once_says_where(fields: str, path: str, expected: str) -> None:
    (problem,) = everything(HEAD + fields)
    assert (problem.path, problem.expected) == (path, expected)


OF_THE_MAP = '- name: "NodeResourcesFit"\n  args: {"scoringStrategy":{"type":"MostAllocated"}}'
OF_A_PLUGIN = "- name: NodeResourcesFit\n  args: {scoringStrategy: {type: MostAllocated}}"


@cases(
    "fields, help_",
    ("pluginConfig as a map of args",
     "pluginConfig: {NodeResourcesFit: {args: {scoringStrategy: {type: MostAllocated}}}}", OF_THE_MAP),
    ("as a map of their fields", "pluginConfig: {NodeResourcesFit: {scoringStrategy: {type: MostAllocated}}}",
     OF_THE_MAP),
    ("as one of its items", "pluginConfig: {name: VolumeBinding, args: {bindTimeoutSeconds: 9}}",
     '- name: "VolumeBinding"\n  args: {"bindTimeoutSeconds":9}'),
    ("as a text", "pluginConfig: NodeResourcesFit", OF_A_PLUGIN),
    ("as names", "pluginConfig: [NodeResourcesFit]", OF_A_PLUGIN),
    ("plugins as names", "plugins: {score: {enabled: [NodeAffinity]}}", "- name: NodeResourcesFit\n  weight: 5"),
    ("a plugin that is no list", 'plugins: {score: {disabled: {name: "*"}}}', '- name: "*"'),
    ("a point that is a list", "plugins: {score: [{name: NodeAffinity}]}", "enabled:\n- name: NodeResourcesFit"),
    ("an integer", "percentageOfNodesToScore: many", ""),
)  # fmt: skip
def test_wrong_shape_comes_with_an_example(fields: str, help_: str) -> None:
    (problem,) = everything(f"{HEAD}profiles:\n- {fields}\n")
    assert problem.help == help_ and problem.found and problem.expected
    if help_.startswith("- "):
        assert isinstance(yaml.safe_load(help_)[0], dict)


def test_dict_has_no_lines() -> None:
    problems = everything(json.loads(in_json('"parallelism": 0, "profiles": [{"plugin": 1}]')))
    assert [(problem.line, problem.path) for problem in problems] == [(0, "profiles[0].plugin"), (0, "parallelism")]


def test_load_raises_all_that_is_told() -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(MANY_FAULTS)
    assert {(problem.line, problem.path) for problem in caught.value.details} < {(line, path) for line, path, _ in MANY}
    assert len(caught.value.problems) == len(MANY) - 3  # without what only shows when plugins are made


def test_hundred_problems_are_told_at_most() -> None:
    text = HEAD + "".join(f"wrong{number}: 1\n" for number in range(300))
    assert [problem.line for problem in everything(text)] == list(range(3, 103))


def test_refused_args_do_not_hide_what_is_wrong_with_the_plugins() -> None:
    text = HEAD + (
        "profiles:\n- plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}, {name: Gone}]}}\n"
        "  pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: 5}\n"
    )
    assert [(problem.line, problem.path) for problem in everything(text)] == [
        (4, "profiles[0].plugins.multiPoint.enabled[1]"),
        (4, "profiles[0].plugins.queueSort"),
        (4, "profiles[0].plugins.bind"),
        (7, "profiles[0].pluginConfig[0].args.addedAffinity"),
    ]


@pytest.mark.parametrize(("count", "problems"), [(100, []), (101, ["Too many: 101: must have at most 100 items"])])
def test_profiles_are_so_many_at_most(count: int, problems: list[str]) -> None:
    text = HEAD + "profiles:\n" + "".join(f"- schedulerName: a{number}\n" for number in range(count))
    assert [problem.message for problem in config.examine(text).problems] == problems
