"""Loading a configuration: strict reading, defaults, real configurations, documents and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.config import names
from scheduler_core.config.decode import encode
from scheduler_core.config.duration import Duration
from scheduler_core.config.types import (
    InterPodAffinityArgs,
    KubeSchedulerConfiguration,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginEntry,
    ResourceSpec,
)
from scheduler_core.errors import ConfigError
from tests.cases import cases
from tests.golden.recordings import GOLDEN, recordings

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
HEAD_TEXT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
HEAD_JSON = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"'
SCHEME = 'scheme "pkg/scheduler/apis/config/scheme/scheme.go:30"'
NO_KIND = 'no kind "KubeSchedulerConfiguration" is registered for version'
OLD_ARGS = {"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "kind": "NodeAffinityArgs"}
OWN_ARGS = HEAD_JSON + ', "profiles": [{"pluginConfig": [{"name": "Mine", "args": '


def load(**fields: Any) -> KubeSchedulerConfiguration:
    return config.load({**HEAD, **fields})


def args(loaded: KubeSchedulerConfiguration, name: str) -> Any:
    return next(entry.args for entry in loaded.profiles[0].plugin_config if entry.name == name)


def enabled(loaded: KubeSchedulerConfiguration, point: str) -> list[str]:
    return [entry.name for entry in getattr(loaded.profiles[0].plugins, point).enabled]


def test_nothing_gives_all_defaults() -> None:
    loaded = config.load(None)
    assert loaded == config.load(HEAD_TEXT) == load(profiles=None) == load(profiles=[{}])
    assert (loaded.parallelism, loaded.percentage_of_nodes_to_score) == (16, 0)
    assert (loaded.pod_initial_backoff_seconds, loaded.pod_max_backoff_seconds) == (1, 10)
    assert loaded.enable_profiling and loaded.enable_contention_profiling and not loaded.delay_cache_until_active
    election = loaded.leader_election
    assert election.leader_elect
    assert (election.lease_duration.us, election.renew_deadline.us, election.retry_period.us) == (
        15_000_000,
        10_000_000,
        2_000_000,
    )
    assert (election.resource_lock, election.resource_name, election.resource_namespace) == (
        "leases", "kube-scheduler", "kube-system",
    )  # fmt: skip
    assert (loaded.client_connection.qps, loaded.client_connection.burst) == (None, None)
    assert [profile.scheduler_name for profile in loaded.profiles] == ["default-scheduler"]
    assert loaded.profile("default-scheduler") is loaded.profiles[0] and loaded.profile("x") is None


def test_default_plugins_stand_in_upstream_order_with_weights() -> None:
    entries = config.load().profiles[0].plugins.multi_point.enabled
    assert [(entry.name, entry.weight) for entry in entries] == [
        ("SchedulingGates", 0), ("PrioritySort", 0), ("NodeUnschedulable", 0), ("NodeName", 0),
        ("TaintToleration", 3), ("NodeAffinity", 2), ("NodePorts", 0), ("NodeResourcesFit", 1),
        ("VolumeRestrictions", 0), ("NodeVolumeLimits", 0), ("VolumeBinding", 0), ("VolumeZone", 0),
        ("PodTopologySpread", 2), ("InterPodAffinity", 2), ("DynamicResources", 0), ("DefaultPreemption", 0),
        ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("DefaultBinder", 0),
    ]  # fmt: skip


def test_every_plugin_with_args_gets_them() -> None:
    loaded = config.load()
    assert [entry.name for entry in loaded.profiles[0].plugin_config] == [
        "DefaultPreemption", "DynamicResources", "InterPodAffinity", "NodeAffinity", "NodeResourcesBalancedAllocation",
        "NodeResourcesFit", "PodTopologySpread", "VolumeBinding",
    ]  # fmt: skip
    fit = args(loaded, names.NODE_RESOURCES_FIT)
    assert fit.scoring_strategy.type == "LeastAllocated"
    assert fit.scoring_strategy.resources == (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
    assert args(loaded, names.DYNAMIC_RESOURCES).filter_timeout == Duration(10_000_000)
    assert args(loaded, names.VOLUME_BINDING).bind_timeout_seconds == 600
    assert args(loaded, names.POD_TOPOLOGY_SPREAD).defaulting_type == "System"


def test_no_args_when_the_plugin_is_disabled() -> None:
    loaded = load(profiles=[{"plugins": {"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}}])
    assert "VolumeBinding" not in [entry.name for entry in loaded.profiles[0].plugin_config]


def test_resources_left_out_or_without_weight_get_defaults() -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "example.com/gpu"}, {"name": "cpu", "weight": 5}]}
    plugin_config = [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}},
        {"name": "NodeResourcesBalancedAllocation", "args": {"resources": []}},
        {"name": "InterPodAffinity"},
    ]
    loaded = load(profiles=[{"pluginConfig": plugin_config}])
    fit = args(loaded, names.NODE_RESOURCES_FIT)
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy.resources == (ResourceSpec("example.com/gpu", 1), ResourceSpec("cpu", 5))
    balanced = args(loaded, names.NODE_RESOURCES_BALANCED_ALLOCATION)
    assert balanced == NodeResourcesBalancedAllocationArgs((ResourceSpec("cpu", 1), ResourceSpec("memory", 1)))
    assert args(loaded, names.INTER_POD_AFFINITY) == InterPodAffinityArgs(1, False)
    only_type = load(
        profiles=[
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
        ]
    )
    assert len(args(only_type, names.NODE_RESOURCES_FIT).scoring_strategy.resources) == 2


def test_args_of_own_plugins_stay_as_written() -> None:
    loaded = load(profiles=[{"pluginConfig": [{"name": "Mine", "args": {"any": ["thing", 1]}}]}])
    assert args(loaded, "Mine") == {"any": ["thing", 1]}


def plugins(**points: Any) -> KubeSchedulerConfiguration:
    return load(profiles=[{"plugins": points}])


def test_merge_keeps_filters_when_score_is_disabled() -> None:
    loaded = plugins(score={"disabled": [{"name": "*"}]})
    assert enabled(loaded, "multi_point") == enabled(config.load(), "multi_point")
    assert loaded.profiles[0].plugins.score.disabled == (PluginEntry("*"),)


def test_merge_gives_exactly_the_list_when_all_are_disabled() -> None:
    listed = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}, {"name": "NodeName", "weight": 4}]
    loaded = plugins(multiPoint={"disabled": [{"name": "*"}], "enabled": listed})
    assert enabled(loaded, "multi_point") == ["PrioritySort", "DefaultBinder", "NodeName"]


def test_merge_replaces_in_place_when_a_default_is_named_again() -> None:
    loaded = plugins(multiPoint={"enabled": [{"name": "Mine"}, {"name": "TaintToleration", "weight": 9}]})
    entries = loaded.profiles[0].plugins.multi_point.enabled
    assert entries[4] == PluginEntry("TaintToleration", 9)
    assert entries[-1] == PluginEntry("Mine")
    assert len(entries) == 20


def test_merge_moves_a_plugin_to_the_end_when_disabled_and_enabled() -> None:
    loaded = plugins(multiPoint={"disabled": [{"name": "NodeName"}], "enabled": [{"name": "NodeName"}]})
    assert enabled(loaded, "multi_point")[-1] == "NodeName"
    assert enabled(loaded, "multi_point").count("NodeName") == 1


def test_merge_keeps_an_explicit_score_entry_with_its_weight() -> None:
    loaded = plugins(score={"enabled": [{"name": "NodeAffinity", "weight": 7}, {"name": "NodeAffinity"}]})
    assert loaded.profiles[0].plugins.score.enabled == (PluginEntry("NodeAffinity", 7), PluginEntry("NodeAffinity"))


@cases(
    "source, message",
    ("empty text", "", "expected an object with apiVersion and kind at the top"),
    ("a list", "- a", "expected an object with apiVersion and kind at the top"),
    ("broken YAML", "a: [", "cannot be read as YAML or JSON: "),
    ("broken JSON", "{", "cannot be read as YAML or JSON: "),
    ("nested too deeply", "[" * 100_000, "cannot be read as YAML or JSON: line 1: is nested more than 64 deep"),
    ("not UTF-8", b"\xff\xfe", "the configuration is not UTF-8 text"),
    ("too large", "#" * 1_000_001, "the configuration is larger than"),
    ("neither version nor kind", {}, "[apiVersion: Required value, kind: Required value]"),
    ("other kind", {"apiVersion": "v1", "kind": "Pod"},
     f'no kind "Pod" is registered for version "v1" in {SCHEME}'),
    ("a kind of another document", {**HEAD, "kind": "NodeAffinityArgs"},
     "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs: "),
    ("older version", {**HEAD, "apiVersion": "kubescheduler.config.k8s.io/v1beta2"},
     f'{NO_KIND} "kubescheduler.config.k8s.io/v1beta2" in {SCHEME}'),
    ("the version before", {**HEAD, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
     f'{NO_KIND} "kubescheduler.config.k8s.io/v1beta3" in {SCHEME}'),
    ("version of another group", {**HEAD, "apiVersion": "v1"},
     f'{NO_KIND} "v1" in {SCHEME}'),
    ("a version that is no text", {**HEAD, "apiVersion": 1}, "apiVersion: expected text"),
    ("a kind that is no text", {**HEAD, "kind": ["Pod"]}, "kind: expected text"),
    ("unknown fields, all named", {**HEAD, "foo": 1, "profiles": [{"plugins": {"score": {"enabled": [{"nam": "x"}]}}}]},
     '[strict decoding error: unknown field "foo", '
     'strict decoding error: unknown field "profiles[0].plugins.score.enabled[0].nam"]'),
    ("duplicate key in YAML", HEAD_TEXT + "parallelism: 1\nparallelism: 2\n",
     'strict decoding error: line 4: key "parallelism" already set in map'),
    ("duplicate key in JSON", f'{HEAD_JSON}, "parallelism": 1, "parallelism": 2}}',
     'strict decoding error: duplicate field "parallelism"'),
    ("a key that is no text", HEAD_TEXT + "1: a", 'strict decoding error: unknown field "1"'),
    ("alias into itself", HEAD_TEXT + "a: &x [*x]",
     "cannot be read as YAML or JSON: line 3: the alias *x names no finished anchor"),
    ("two documents", HEAD_TEXT + "---\na: 1", "expected one document, got 2"),
    ("many tag directives", "%TAG !a! x\n" * 50_000,
     "cannot be read as YAML or JSON: has more than 100 tag directives"),
    ("YAML nested too deeply", "- " * 500, "cannot be read as YAML or JSON: line 1: is nested more than 64 deep"),
    ("JSON nested too deeply", '{"a": ' + "[" * 50_000, "cannot be read as YAML or JSON: is nested more than 64 deep"),
    ("too many values", '{"a": [' + "1," * 100_000, "cannot be read as YAML or JSON: has more than 100,000 values"),
    ("a long number in JSON", f'{HEAD_JSON}, "parallelism": {"1" * 5000}}}', "a number of 5000 digits is too long"),
    ("a long number in YAML", "a: " + "1" * 5000, "cannot be read as YAML or JSON: line 1: a number of 5000 digits"),
    ("no number", HEAD_JSON + ', "clientConnection": {"qps": NaN}}', "NaN is no number that JSON knows"),
    ("a number without end", HEAD_JSON + ', "clientConnection": {"qps": 1e999}}', "1e999 is no number that JSON knows"),
    ("half a character", HEAD_JSON + ', "profiles": [{"schedulerName": "\\ud800"}]}',
     "profiles[0].schedulerName: has half a character"),
    ("code 0 in a key", OWN_ARGS + '{"\\u0000": 1}}]}]}',
     "'profiles[0].pluginConfig[0].args.\\x00': has a character of code 0"),
    ("code 0 in YAML", HEAD_TEXT + 'profiles: [{schedulerName: "x\\0y"}]',
     "profiles[0].schedulerName: has a character of code 0"),
    ("what looks like a date", HEAD_TEXT + "parallelism: 2024-13-45",
     "parallelism: expected an integer, got text ('2024-13-45')"),
    ("no hexadecimal", HEAD_TEXT + "parallelism: 0x_", "parallelism: expected an integer, got text ('0x_')"),
    ("wrong type", {**HEAD, "parallelism": "1"}, "parallelism: expected an integer, got text ('1')"),
    ("no duration", {**HEAD, "leaderElection": {"leaseDuration": "15 seconds"}},
     "leaderElection.leaseDuration: time: invalid duration \"15 seconds\" ('15 seconds')"),
    ("a number for a duration", {**HEAD, "leaderElection": {"leaseDuration": 15}},
     "leaderElection.leaseDuration: expected a duration such as 15s (15)"),
    ("args of another kind",
     {**HEAD, "profiles": [{"pluginConfig": [{"name": "InterPodAffinity", "args": {"kind": "FooArgs"}}]}]},
     'decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: no kind "FooArgs" is '
     f'registered for version "kubescheduler.config.k8s.io/v1" in {SCHEME}'),
    ("args of another plugin",
     {**HEAD, "profiles": [{"pluginConfig": [{"name": "InterPodAffinity", "args": {"kind": "NodeAffinityArgs"}}]}]},
     "decoding .profiles[0].pluginConfig[0]: args for plugin InterPodAffinity were not of type "
     "InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io"),
    ("args of the version before",
     {**HEAD, "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": OLD_ARGS}]}]},
     "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: no kind "
     f'"NodeAffinityArgs" is registered for version "kubescheduler.config.k8s.io/v1beta3" in {SCHEME}'),
    ("unknown field in args",
     {**HEAD, "profiles": [{"pluginConfig": [{"name": "InterPodAffinity", "args": {"foo": 1}}]}]},
     "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: strict decoding error: "
     'unknown field "foo"'),
    ("wrong type in args",
     {**HEAD, "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": "x"}}]}]},
     "decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: "
     "bindTimeoutSeconds: expected an integer, got text ('x')"),
    ("args that are no object", {**HEAD, "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": [1]}]}]},
     "decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: expected an object"),
)  # fmt: skip
def test_load_refuses(source: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(source)
    assert str(caught.value).startswith(message)


def test_stored_text_may_be_of_the_version_that_was_taken_once() -> None:
    args_of_it = f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {json.dumps(OLD_ARGS)}}}]}}]\n"
    text = HEAD_TEXT + args_of_it
    assert config.load_stored(text.replace("/v1\n", "/v1beta3\n")) == config.load(text.replace("/v1beta3", "/v1"))
    assert config.load_stored("") == config.load_stored(b" ") == config.load_stored(HEAD_TEXT) == config.load()
    with pytest.raises(ConfigError, match="v1beta2"):
        config.load_stored(HEAD_TEXT.replace("/v1", "/v1beta2"))


def test_json_and_yaml_texts_mean_the_same() -> None:
    document = {**HEAD, "parallelism": 3, "leaderElection": {"leaseDuration": "1m"}}
    yaml_text = HEAD_TEXT + "parallelism: 3\nleaderElection:\n  leaseDuration: 1m\n"
    assert (
        config.load(json.dumps(document))
        == config.load(document)
        == config.load(yaml_text)
        == config.load(yaml_text.encode())
    )


def test_zero_and_empty_count_as_unset() -> None:
    loaded = load(
        leaderElection={"leaseDuration": "0s", "resourceName": ""},
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
        extenders=[{"urlPrefix": "http://x", "httpTimeout": "0s"}],
    )
    assert loaded.leader_election == config.load().leader_election
    assert loaded.client_connection == config.load().client_connection
    assert loaded.extenders[0].http_timeout == Duration(5_000_000)


def test_contention_profiling_follows_profiling() -> None:
    assert not load(enableProfiling=False).enable_contention_profiling
    assert not load(enableContentionProfiling=False).enable_contention_profiling
    assert load(enableProfiling=False, enableContentionProfiling=True).enable_contention_profiling


def test_named_rates_are_kept() -> None:
    loaded = load(clientConnection={"qps": 5.5, "burst": 7})
    assert (loaded.client_connection.qps, loaded.client_connection.burst) == (5.5, 7)


def test_extender_is_read_with_its_odd_names() -> None:
    extender = load(
        extenders=[
            {
                "urlPrefix": "https://e", "filterVerb": "filter", "enableHTTPS": True, "httpTimeout": "300ms",
                "tlsConfig": {"insecure": True, "caFile": "f", "certData": "Yg=="}, "nodeCacheCapable": True,
                "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}], "ignorable": True,
            }
        ]
    ).extenders[0]  # fmt: skip
    assert extender.enable_https and extender.http_timeout == Duration(300_000) and extender.ignorable
    assert extender.tls_config is not None and extender.tls_config.ca_file == "f"
    assert extender.managed_resources[0].ignored_by_scheduler


def test_documents_are_written_and_read_back() -> None:
    assert config.load(encode(config.load())) == config.load()
    custom = load(profiles=[{"schedulerName": "a", "percentageOfNodesToScore": 0},
                            {"schedulerName": "b", "pluginConfig": [{"name": "Mine", "args": {"x": 1}}]}],
                  clientConnection={"qps": 5},
                  extenders=[{"urlPrefix": "http://x", "tlsConfig": {"insecure": True}}])  # fmt: skip
    assert config.load(json.dumps(encode(custom))) == custom


def test_recorded_configurations_all_load() -> None:
    loaded = 0
    for family in ("scoring", "preemption", "mixed"):
        for recording in recordings(family):
            document = recording.scenario["config"]
            if document is not None:
                one = config.load(document)
                assert config.load(encode(one)) == one
                loaded += 1
    assert loaded > (250 if GOLDEN.is_dir() else 0)
