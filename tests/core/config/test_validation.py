"""Every problem a configuration can have, with its path and upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.config import validation
from scheduler_core.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElection, PluginConfig
from scheduler_core.errors import ConfigError

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
    base = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    return plugin_args("PodTopologySpread", defaultingType="List", defaultConstraints=[{**base, **constraint}])


SHAPE = f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape"
SPREAD = f"{ARGS}.defaultConstraints[0]"
REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'

CASES = [
    pytest.param(
        {"parallelism": 0},
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
        id="parallelism",
    ),
    pytest.param(
        {"clientConnection": {"burst": -1}},
        "clientConnection.burst: Invalid value: -1: must be non-negative",
        id="burst",
    ),
    pytest.param(
        {"percentageOfNodesToScore": 101},
        "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        id="percentage",
    ),
    pytest.param(
        {"podInitialBackoffSeconds": 0},
        "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        id="initial backoff",
    ),
    pytest.param(
        {"podInitialBackoffSeconds": 20},
        "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
        id="maximum below initial backoff",
    ),
    pytest.param(
        {"leaderElection": {"leaseDuration": "10s"}},
        'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        id="the lease duration problem prints the deadline",
    ),
    pytest.param(
        {"leaderElection": {"leaseDuration": "5s", "renewDeadline": "1m30s"}},
        'leaderElection.leaseDuration: Invalid value: "1m30s": must be greater than `RenewDeadline`',
        id="the deadline printed is as Go prints it",
    ),
    pytest.param(
        {"leaderElection": {"retryPeriod": "-1s"}},
        'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero',
        id="retry period",
    ),
    pytest.param(
        {"leaderElection": {"resourceLock": "endpoints"}},
        'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        id="old lock",
    ),
    pytest.param(
        {"profiles": [{"schedulerName": "a"}, {}]},
        "profiles[1].schedulerName: Required value",
        id="two profiles need names",
    ),
    pytest.param(
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
        id="same name twice",
    ),
    pytest.param(
        {"profiles": [{"percentageOfNodesToScore": -1}]},
        "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        id="percentage of a profile",
    ),
    pytest.param(
        {"profiles": [{"plugins": {"preFilter": {"enabled": [{"name": "EBSLimits"}]}}}]},
        f'profiles[0].plugins.preFilter.enabled[0]: Invalid value: "EBSLimits": {REMOVED}',
        id="removed plugin",
    ),
    pytest.param(
        {"profiles": [{"pluginConfig": [{"name": "GCEPDLimits"}]}]},
        f'profiles[0].pluginConfig[0]: Invalid value: "GCEPDLimits": {REMOVED}',
        id="args of a removed plugin",
    ),
    pytest.param(
        {"profiles": [{"pluginConfig": [{"name": "Mine"}, {"name": "Mine"}]}]},
        'profiles[0].pluginConfig[1]: Duplicate value: "Mine"',
        id="args twice",
    ),
    pytest.param(
        {"profiles": [{"plugins": {"queueSort": {"enabled": [{"name": "A"}, {"name": "B"}]}}}]},
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
        id="two queue sorts",
    ),
    pytest.param(
        {
            "profiles": [
                {"schedulerName": "a"},
                {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "B"}]}}},
            ]
        },
        'profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"B","weight":0}],"disabled":[]}: '
        "must be the same for all profiles",
        id="another queue sort",
    ),
    pytest.param(
        {
            "profiles": [
                {"schedulerName": "a", "plugins": {"queueSort": {"enabled": [{"name": "S"}]}}},
                {
                    "schedulerName": "b",
                    "plugins": {"queueSort": {"enabled": [{"name": "S"}]}},
                    "pluginConfig": [{"name": "S", "args": {"x": 1}}],
                },
            ]
        },
        'profiles[1].pluginConfig.args: Invalid value: {"x":1}: queueSort must be the same for all profiles',
        id="other queue sort args",
    ),
    pytest.param(
        plugin_args("DefaultPreemption", minCandidateNodesPercentage=101),
        f"{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
        id="preemption percentage",
    ),
    pytest.param(
        plugin_args("DefaultPreemption", minCandidateNodesAbsolute=-1),
        f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
        id="preemption absolute",
    ),
    pytest.param(
        plugin_args("DefaultPreemption", minCandidateNodesAbsolute=0, minCandidateNodesPercentage=0),
        f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
        f"minCandidateNodesAbsolute, {ARGS}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same "
        "time as minCandidateNodesPercentage]",
        id="preemption both zero",
    ),
    pytest.param(
        plugin_args("InterPodAffinity", hardPodAffinityWeight=101),
        f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        id="hard weight",
    ),
    pytest.param(
        plugin_args(
            "NodeAffinity",
            addedAffinity={
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]
                }
            },
        ),
        f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
        '.operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        id="added affinity",
    ),
    pytest.param(
        plugin_args("NodeResourcesFit", ignoredResourceGroups=["a/b"]),
        f"{ARGS}.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'",
        id="group with slash",
    ),
    pytest.param(
        fit(type="Most"),
        f'{ARGS}.scoringStrategy.type: Unsupported value: "Most": supported values: "LeastAllocated", "MostAllocated", '
        '"RequestedToCapacityRatio"',
        id="strategy",
    ),
    pytest.param(
        fit(resources=[{"name": "cpu", "weight": 101}]),
        f"{ARGS}.scoringStrategy.resources[0].weight: Invalid value: 101: "
        "resource weight of cpu not in valid range (0, 100]",
        id="resource weight",
    ),
    pytest.param(shape(), f"{SHAPE}: Required value: at least one point must be specified", id="no shape"),
    pytest.param(
        shape((10, 0), (10, 5), (5, 1)),
        f"{SHAPE}[1].utilization: Invalid value: 10: values must be sorted in increasing order",
        id="shape not rising, first offender only",
    ),
    pytest.param(
        shape((101, 0)), f"{SHAPE}[0].utilization: Invalid value: 101: not in valid range [0, 100]", id="utilization"
    ),
    pytest.param(shape((0, 11)), f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10]", id="score"),
    pytest.param(
        plugin_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": "cpu"}]),
        f'{ARGS}.resources[1].name: Duplicate value: "cpu"',
        id="balanced duplicate",
    ),
    pytest.param(
        plugin_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}]),
        f"{ARGS}.resources[0].weight: Invalid value: 2: must be 1",
        id="balanced weight",
    ),
    pytest.param(
        plugin_args("PodTopologySpread", defaultingType="Some"),
        f'{ARGS}.defaultingType: Unsupported value: "Some": supported values: "System", "List"',
        id="defaulting type",
    ),
    pytest.param(
        {
            "profiles": [
                {
                    "pluginConfig": [
                        {
                            "name": "PodTopologySpread",
                            "args": {
                                "defaultConstraints": [
                                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                                ]
                            },
                        }
                    ]
                }
            ]
        },
        f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
        id="constraints with System",
    ),
    pytest.param(spread(maxSkew=0), f"{SPREAD}.maxSkew: Invalid value: 0: not in valid range (0, inf)", id="max skew"),
    pytest.param(spread(topologyKey=""), f"{SPREAD}.topologyKey: Required value: can not be empty", id="topology key"),
    pytest.param(
        spread(whenUnsatisfiable=""), f"{SPREAD}.whenUnsatisfiable: Required value: can not be empty", id="no action"
    ),
    pytest.param(
        spread(whenUnsatisfiable="Maybe"),
        f'{SPREAD}.whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"',
        id="action",
    ),
    pytest.param(
        spread(labelSelector={}),
        f"{SPREAD}.labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod",
        id="selector",
    ),
    pytest.param(
        plugin_args(
            "PodTopologySpread",
            defaultingType="List",
            defaultConstraints=[
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
                {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
            ],
        ),
        f'{ARGS}.defaultConstraints[1].{{topologyKey, whenUnsatisfiable}}: Duplicate value: "{{zone, ScheduleAnyway}}"',
        id="constraint twice",
    ),
    pytest.param(
        plugin_args("VolumeBinding", bindTimeoutSeconds=-1),
        f"{ARGS}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
        id="bind timeout",
    ),
    pytest.param(
        plugin_args("VolumeBinding", shape=[{"utilization": 0, "score": 1}]),
        f'{ARGS}.shape: Invalid value: [{{"utilization":0,"score":1}}]: unexpected field `shape`, '
        "remove it or turn on the feature gate StorageCapacityScoring",
        id="shape without its gate",
    ),
    pytest.param(
        plugin_args("DynamicResources", filterTimeout="-1s"),
        f'{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive',
        id="filter timeout",
    ),
    pytest.param(
        {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]},
        "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        id="extender weight",
    ),
    pytest.param(
        {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
        'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
        id="managed resource",
    ),
    pytest.param(
        {"extenders": [{"managedResources": [{"name": "a.io/x"}]}, {"managedResources": [{"name": "a.io/x"}]}]},
        'extenders[1].managedResources[0].name: Invalid value: "a.io/x": duplicate extender managed resource name',
        id="managed twice",
    ),
    pytest.param(
        {"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]},
        'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
        id="two binders",
    ),
]


@pytest.mark.parametrize(("fields", "message"), CASES)
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
