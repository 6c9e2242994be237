"""A random world: a scheduler with plugins that hold pods, make them wait, break and nominate, and what happens to it.

`OPS` draws lists of happenings; `changes_of` makes changes of one, as the cluster stands.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from scheduler_core.api.pod import Pod, PodStatus
from scheduler_core.framework.answers import NominatingInfo, NominatingMode, PreBindWork
from scheduler_core.model.changes import BindingVerdict, Change, ObjectDeleted, ObjectPut, PermitVerdict, PreBindVerdict
from scheduler_core.model.status import SUCCESS, WAIT, Status
from scheduler_core.ports import SeededDraws
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import (
    SECOND,
    BindingPlugin,
    Cluster,
    FilteringPlugin,
    PostFilteringPlugin,
    ToldPlugins,
    profile,
    start,
)

Op = tuple[str, int, int]

OPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["node", "node", "cordon", "drop node", "pod", "pod", "pod", "pod", "grow", "gate", "drop pod", "bound",
             "refused", "rejected", "elsewhere", "allow", "prepared", "finish", "wait"]
        ),
        st.integers(0, 9),
        st.integers(0, 3),
    ),
    min_size=2,
    max_size=40,
)  # fmt: skip

# What is special about a pod, by the last digit of its name.
_LABELS = {0: "hold", 3: "hold", 4: "volume", 5: "broken", 6: "nominate", 7: "hold"}


class Nominator(PostFilteringPlugin):
    """Nominates the first node it is told of for pods that ask for it."""

    def post_filter(self, state: Any, pod: Any, node_to_status: Any) -> Any:
        if "nominate" not in pod.labels or not node_to_status:
            return None, Status.unschedulable("nothing to gain")
        return NominatingInfo(NominatingMode.OVERRIDE, next(iter(node_to_status))), SUCCESS


def start_world() -> Cluster:
    """Two profiles with plugins that hold pods, make them wait for work, break, and nominate."""

    def pre_bind(pod: Pod, node: str) -> tuple[Status, PreBindWork | None]:
        return SUCCESS, PreBindWork([], awaits=True) if "volume" in pod.labels else None

    plugins = (
        ToldPlugins()
        .add(
            "Hold", BindingPlugin, permit=lambda pod, node: (WAIT, 5 * SECOND) if "hold" in pod.labels else (SUCCESS, 0)
        )
        .add("Volumes", BindingPlugin, pre_bind=pre_bind)
        .add(
            "Break",
            FilteringPlugin,
            filter=lambda pod, node: Status.failed("odd") if "broken" in pod.labels else SUCCESS,
        )
        .add("Nominate", Nominator)
    )
    names = ("Hold", "Volumes", "Break", "Nominate")
    profiles = (profile(*names, default=True), profile(*names, name="second", default=True))
    return start(*profiles, plugins=plugins, draws=SeededDraws(7))


def changes_of(cluster: Cluster, op: Op) -> list[Change]:
    """What the happening changes; nothing where it cannot happen."""
    what, i, size = op
    store = cluster.scheduler.engine.store
    bindings = list(cluster.scheduler.engine.bindings.values())
    stored = store.pod(f"default/p{i}")
    match what:
        case "node":
            node = make_node(f"n{i}").zone(f"z{i % 2}").capacity(cpu=str(1 + size)).images({f"app:{i % 3}": 10**8})
            return [ObjectPut(node.build())]
        case "cordon":
            return [ObjectPut(make_node(f"n{i}").zone(f"z{i % 2}").unschedulable().build())]
        case "drop node":
            return [ObjectDeleted("Node", "", f"n{i}")]
        case "pod" | "grow" | "gate" if stored is None or not stored.is_assigned:
            pod = make_pod(f"p{i}", uid=f"u{i}-{size % 2}").req(cpu=str(1 + size)).priority(size).label(app=what)
            pod.image(f"app:{size}").host_port(8000 + i % 4)
            if i in _LABELS:
                pod.label({_LABELS[i]: "yes"})
            if what == "gate":
                pod.gate("closed")
            if i % 2:
                pod.scheduler("second")
            return [ObjectPut(pod.build())]
        case "drop pod":
            return [ObjectDeleted("Pod", "default", f"p{i}")]
        case "finish" if stored is not None:
            return [ObjectPut(msgspec.structs.replace(stored, status=PodStatus(phase="Succeeded")))]
        case "elsewhere" if stored is not None and not stored.is_assigned:
            return [ObjectPut(stored.on_node(f"n{size}"))]
        case "allow" if bindings:
            return [PermitVerdict(bindings[i % len(bindings)].pod.uid, "Hold", allowed=size > 0, message="no")]
        case "prepared" if bindings:
            return [PreBindVerdict(bindings[i % len(bindings)].pod.uid, "Volumes", done=size > 0, message="lost")]
        case "bound" | "refused" | "rejected" if bindings:
            cycle = bindings[i % len(bindings)]
            verdict = BindingVerdict(
                cycle.pod.uid, cycle.node_name, bound=what == "bound", message="conflict", rejected=what == "rejected"
            )
            stored = store.pod(cycle.pod.key)
            if what == "bound" and stored is not None and not stored.is_assigned and cycle.bind_plugin:
                return [ObjectPut(stored.on_node(cycle.node_name)), verdict]
            return [verdict]
    return []
