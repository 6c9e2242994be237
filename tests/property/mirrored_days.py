"""Days of a cluster in which nodes lose a taint one by one while pods come and go, as another scheduler decides them.

Everything is drawn from a seed: how many nodes and how fast, how late the scheduler and the mirror hear of each kind,
how unevenly bindings take their time, pods with and without ReplicaSets, which may be as young as their pods, pods that
end, nodes that change their size.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.builders import make, make_node, make_pod, scheduler_config
from tests.core.scheduler.delayed import Recorded

ZONES = ("a", "b", "c")
BEGINS_MS = 3_000  # when everything of before is older than what anybody may not know
LATEST_MS = 490
JITTER_MS = 100
OWN_LATEST_MS = 50


def _profile(**fields: Any) -> str:
    return scheduler_config(profiles=[fields])


def _args(plugin: str, **args: Any) -> str:
    return _profile(pluginConfig=[{"name": plugin, "args": args}])


EQUAL = ""
PLANTED = {
    "MostAllocated": _args(
        "NodeResourcesFit",
        scoringStrategy={"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]},
    ),
    "a weight": _profile(
        plugins={
            "score": {
                "disabled": [{"name": "NodeResourcesFit"}],
                "enabled": [{"name": "NodeResourcesFit", "weight": 20}],
            }
        }
    ),
    "no spreading": _profile(plugins={"score": {"disabled": [{"name": "PodTopologySpread"}]}}),
    "resources not scored": _profile(
        plugins={"score": {"disabled": [{"name": "NodeResourcesFit"}, {"name": "NodeResourcesBalancedAllocation"}]}}
    ),
    "taints do not count": _profile(plugins={"filter": {"disabled": [{"name": "TaintToleration"}]}}),
    "other default constraints": _args(
        "PodTopologySpread",
        defaultingType="List",
        defaultConstraints=[
            {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    ),
}


def played(seed: int, scheduler_config: str) -> Recorded:
    """The day is over; `comparisons` and `affected` are those of the whole of it."""
    draws = Random(seed)
    delays = {kind: 10 * draws.randrange(LATEST_MS // 10 + 1) for kind in ("Node", "Pod", "ReplicaSet")}
    own = {kind: 10 * draws.randrange(OWN_LATEST_MS // 10 + 1) for kind in delays}
    binds = draws.choice((0, 10, 20))
    recorded = Recorded(delays, scheduler_config, own_delays=own, jitter_ms=JITTER_MS, binds_jitter_ms=binds, seed=seed)
    recorded.play(_fill(recorded, draws))
    return recorded


def _fill(recorded: Recorded, draws: Random) -> int:
    count, step = draws.choice((9, 15, 30)), draws.choice((30, 60, 100, 150))
    free = max(2, count // 4)
    sizes = [draws.choice((4, 8, 16)) for _ in range(count)]
    span = step * (count - free) + 1_000

    def node(index: int, *, is_tainted: bool = False) -> Any:
        made = make_node(f"n{index}").zone(ZONES[index % 3]).capacity(cpu=str(sizes[index]), memory="32Gi", pods="40")
        return (made.taint("gate") if is_tainted else made).build()

    def some_time(within: int = span) -> int:
        return 10 * draws.randrange(within // 10)

    recorded.at(0, *[node(index, is_tainted=index >= free) for index in range(count)])
    for index in range(3 * free):
        old = make_pod(f"old{index}").label(app="old").req(cpu=draws.choice(("200m", "500m", "1")), memory="1Gi")
        recorded.at(0, old.on(f"n{index % free}").build())
        if draws.random() < 0.5:
            recorded.gone_at(BEGINS_MS + some_time(), "Pod", "default", f"old{index}")
    for place, index in enumerate(range(free, count)):
        recorded.at(BEGINS_MS + step * place + some_time(step), node(index))
    for group in range(span // 200 + 1):
        _workload(recorded, draws, group, BEGINS_MS + some_time())
    for _ in range(count // 5):
        index = draws.randrange(free)
        sizes[index] = draws.choice((4, 8, 16))
        recorded.at(BEGINS_MS + some_time(), node(index))
    return BEGINS_MS + span + 3_000


def _workload(recorded: Recorded, draws: Random, group: int, came: int) -> None:
    labels, owned = {"app": f"g{group}"}, draws.random() < 0.7
    if owned:
        spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
        recorded.at(draws.choice((0, came)), make("ReplicaSet", f"g{group}", spec=spec))
    cpu, memory = draws.choice(("100m", "300m", "700m", "1500m")), draws.choice(("256Mi", "1Gi", "3Gi"))
    for index in range(draws.randint(2, 8)):
        pod = make_pod(f"p{group}-{index}").label(labels).req(cpu=cpu, memory=memory)
        pod = pod.owner("ReplicaSet", f"g{group}") if owned else pod
        recorded.at(came + 10 * draws.randrange(60), pod.build())
