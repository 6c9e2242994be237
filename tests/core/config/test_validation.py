"""Every problem a configuration can have, with its path and upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.config import validation
from scheduler_core.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElection, PluginConfig
from scheduler_core.errors import ConfigError
from tests.cases import cases

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ARGS = "profiles[0].pluginConfig[0].args"


def plugin_args(name: str, **args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": name, "args": args}]}]}


def fit(**strategy: Any) -> dict[str, Any]:
    return plugin_args("NodeResourcesFit", scoringStrategy={"type": "LeastAllocated", **strategy})


def shape(*points: tuple[int, int]) -> dict[str, Any]:
    listed = [{"utilization": utilization, "score": score} for utilization, score in points]
    return fit(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": listed})


def spread(**constraint: Any) -> dict[str, Any]:
    return plugin_args("PodTopologySpread", defaultingType="List", defaultConstraints=[{**SOFT, **constraint}])


SHAPE = f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape"
SPREAD = f"{ARGS}.defaultConstraints[0]"
REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'

SOFT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
TERMS = [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]
NEAR = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": TERMS}}

CASES = [
    ("parallelism", {"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
    ("burst", {"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"),
    ("percentage", {"percentageOfNodesToScore": 101},
     "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
    ("initial backoff", {"podInitialBackoffSeconds": 0},
     "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
    ("maximum below initial backoff", {"podInitialBackoffSeconds": 20},
     "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"),
    ("the lease duration problem prints the deadline", {"leaderElection": {"leaseDuration": "10s"}},
     'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'),
    ("the deadline printed is as Go prints it", {"leaderElection": {"leaseDuration": "5s", "renewDeadline": "1m30s"}},
     'leaderElection.leaseDuration: Invalid value: "1m30s": must be greater than `RenewDeadline`'),
    ("retry period", {"leaderElection": {"retryPeriod": "-1s"}},
     'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero'),
    ("old lock", {"leaderElection": {"resourceLock": "endpoints"}},
     'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'),
    ("two profiles need names", {"profiles": [{"schedulerName": "a"}, {}]},
     "profiles[1].schedulerName: Required value"),
    ("same name twice", {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
     'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"'),
    ("percentage of a profile", {"profiles": [{"percentageOfNodesToScore": -1}]},
     "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"),
    ("removed plugin", {"profiles": [{"plugins": {"preFilter": {"enabled": [{"name": "EBSLimits"}]}}}]},
     f'profiles[0].plugins.preFilter.enabled[0]: Invalid value: "EBSLimits": {REMOVED}'),
    ("args of a removed plugin", {"profiles": [{"pluginConfig": [{"name": "GCEPDLimits"}]}]},
     f'profiles[0].pluginConfig[0]: Invalid value: "GCEPDLimits": {REMOVED}'),
    ("args twice", {"profiles": [{"pluginConfig": [{"name": "Mine"}, {"name": "Mine"}]}]},
     'profiles[0].pluginConfig[1]: Duplicate value: "Mine"'),
    ("two queue sorts", {"profiles": [{"plugins": {"queueSort": {"enabled": [{"name": "A"}, {"name": "B"}]}}}]},
     "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"),
    ("another queue sort",
     {"profiles": [{"schedulerName": "a"},
                   {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "B"}]}}}]},
     'profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"B","weight":0}],"disabled":[]}: '
     "must be the same for all profiles"),
    ("other queue sort args",
     {"profiles": [{"schedulerName": "a", "plugins": {"queueSort": {"enabled": [{"name": "S"}]}}},
                   {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "S"}]}},
                    "pluginConfig": [{"name": "S", "args": {"x": 1}}]}]},
     'profiles[1].pluginConfig.args: Invalid value: {"x":1}: queueSort must be the same for all profiles'),
    ("preemption percentage", plugin_args("DefaultPreemption", minCandidateNodesPercentage=101),
     f"{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"),
    ("preemption absolute", plugin_args("DefaultPreemption", minCandidateNodesAbsolute=-1),
     f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"),
    ("preemption both zero",
     plugin_args("DefaultPreemption", minCandidateNodesAbsolute=0, minCandidateNodesPercentage=0),
     f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
     f"minCandidateNodesAbsolute, {ARGS}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same "
     "time as minCandidateNodesPercentage]"),
    ("hard weight", plugin_args("InterPodAffinity", hardPodAffinityWeight=101),
     f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"),
    ("added affinity", plugin_args("NodeAffinity", addedAffinity=NEAR),
     f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
     '.operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'),
    ("group with slash", plugin_args("NodeResourcesFit", ignoredResourceGroups=["a/b"]),
     f"{ARGS}.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"),
    ("strategy", fit(type="Most"),
     f'{ARGS}.scoringStrategy.type: Unsupported value: "Most": supported values: "LeastAllocated", "MostAllocated", '
     '"RequestedToCapacityRatio"'),
    ("resource weight", fit(resources=[{"name": "cpu", "weight": 101}]),
     f"{ARGS}.scoringStrategy.resources[0].weight: Invalid value: 101: "
     "resource weight of cpu not in valid range (0, 100]"),
    ("no shape", shape(), f"{SHAPE}: Required value: at least one point must be specified"),
    ("shape not rising, first offender only", shape((10, 0), (10, 5), (5, 1)),
     f"{SHAPE}[1].utilization: Invalid value: 10: values must be sorted in increasing order"),
    ("utilization", shape((101, 0)), f"{SHAPE}[0].utilization: Invalid value: 101: not in valid range [0, 100]"),
    ("score", shape((0, 11)), f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10]"),
    ("balanced duplicate", plugin_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": "cpu"}]),
     f'{ARGS}.resources[1].name: Duplicate value: "cpu"'),
    ("balanced weight", plugin_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}]),
     f"{ARGS}.resources[0].weight: Invalid value: 2: must be 1"),
    ("defaulting type", plugin_args("PodTopologySpread", defaultingType="Some"),
     f'{ARGS}.defaultingType: Unsupported value: "Some": supported values: "System", "List"'),
    ("constraints with System", plugin_args("PodTopologySpread", defaultConstraints=[SOFT]),
     f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty'),
    ("max skew", spread(maxSkew=0), f"{SPREAD}.maxSkew: Invalid value: 0: not in valid range (0, inf)"),
    ("topology key", spread(topologyKey=""), f"{SPREAD}.topologyKey: Required value: can not be empty"),
    ("no action", spread(whenUnsatisfiable=""), f"{SPREAD}.whenUnsatisfiable: Required value: can not be empty"),
    ("action", spread(whenUnsatisfiable="Maybe"),
     f'{SPREAD}.whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"'),
    ("selector", spread(labelSelector={}),
     f"{SPREAD}.labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod"),
    ("constraint twice",
     plugin_args("PodTopologySpread", defaultingType="List", defaultConstraints=[SOFT, {**SOFT, "maxSkew": 2}]),
     f'{ARGS}.defaultConstraints[1].{{topologyKey, whenUnsatisfiable}}: Duplicate value: "{{zone, ScheduleAnyway}}"'),
    ("bind timeout", plugin_args("VolumeBinding", bindTimeoutSeconds=-1),
     f"{ARGS}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"),
    ("shape without its gate", plugin_args("VolumeBinding", shape=[{"utilization": 0, "score": 1}]),
     f'{ARGS}.shape: Invalid value: [{{"utilization":0,"score":1}}]: unexpected field `shape`, '
     "remove it or turn on the feature gate StorageCapacityScoring"),
    ("filter timeout", plugin_args("DynamicResources", filterTimeout="-1s"),
     f'{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive'),
    ("extender weight", {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]},
     "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"),
    ("managed resource", {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
     'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name'),
    ("managed twice",
     {"extenders": [{"managedResources": [{"name": "a.io/x"}]}, {"managedResources": [{"name": "a.io/x"}]}]},
     'extenders[1].managedResources[0].name: Invalid value: "a.io/x": duplicate extender managed resource name'),
    ("two binders", {"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]},
     'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'),
]  # fmt: skip


@cases("fields, message", *CASES)
def test_load_refuses_with_the_field(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load({**HEAD, **fields})
    assert str(caught.value) == message


def test_label_names_of_ignored_resources_are_checked() -> None:
    with pytest.raises(ConfigError, match=r'ignoredResources\[0\]: Invalid value: "-x": name part must consist of'):
        config.load({**HEAD, **plugin_args("NodeResourcesFit", ignoredResources=["-x"])})


def test_all_problems_are_collected_and_identical_ones_told_once() -> None:
    with pytest.raises(ConfigError) as caught:
        config.load({**HEAD, "parallelism": -1, "podInitialBackoffSeconds": -1, "percentageOfNodesToScore": -1})
    assert len(caught.value.problems) == 3
    assert str(caught.value).startswith("[parallelism: ") and str(caught.value).endswith("]")


def test_leader_election_is_not_checked_when_off() -> None:
    loaded = config.load({**HEAD, "leaderElection": {"leaderElect": False, "resourceLock": "endpoints"}})
    assert not loaded.leader_election.leader_elect


def told(values: KubeSchedulerConfiguration) -> list[str]:
    return [str(problem) for problem in validation.validate(values)]


def test_values_built_by_hand_are_checked_too() -> None:
    empty = LeaderElection(resource_name="", resource_namespace="", resource_lock="")
    profile = KubeSchedulerProfile("a", plugin_config=(PluginConfig("NodeAffinity", {"x": 1}),))
    assert told(KubeSchedulerConfiguration(profiles=(), leader_election=empty)) == [
        "leaderElection.resourceLock: Required value",
        "leaderElection.resourceNamespace: Required value",
        "leaderElection.resourceName: Required value",
        'leaderElection.resourceLock: Invalid value: "": resourceLock value must be "leases"',
        "profiles: Required value",
    ]
    assert told(KubeSchedulerConfiguration(profiles=(profile,))) == [
        'profiles[0].pluginConfig[0].args: Invalid value: {"x":1}: has to match plugin args'
    ]
