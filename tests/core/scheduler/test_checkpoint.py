"""Dump, load, go on == go on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.pod import Pod, PodStatus
from scheduler_core.errors import CheckpointError
from scheduler_core.framework.interface import NominatingInfo, NominatingMode, PreBindWork
from scheduler_core.model.changes import (
    BindingVerdict,
    Change,
    ObjectDeleted,
    ObjectPut,
    PermitVerdict,
    PreBindVerdict,
)
from scheduler_core.model.effects import Effects
from scheduler_core.model.status import SUCCESS, WAIT, Status
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import (
    SECOND,
    BindingPlugin,
    Cluster,
    FilteringPlugin,
    PostFilteringPlugin,
    ToldPlugins,
    plain,
    profile,
    start,
)
from tests.examples import examples

Op = tuple[str, int, int]

_OPS = st.lists(
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


def _start() -> Cluster:
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


def _changes(cluster: Cluster, op: Op) -> list[Change]:
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


def _seen(effects: Effects) -> dict[str, Any]:
    return {
        "attempts": [plain(each) for each in effects.attempts],
        "rest": [effects.moves, effects.bindings, effects.status_patches, effects.events, effects.more],
    }


@examples(30)
@given(before=_OPS, after=_OPS, cycles=st.integers(0, 3))
def test_loaded_engine_goes_on_like_the_one_that_was_dumped(before: list[Op], after: list[Op], cycles: int) -> None:
    cluster = _start()
    for op in before:
        cluster.step(*_changes(cluster, op), budget=Budget(cycles), after=op[2] * SECOND)
    twin = _start()
    checkpoint.load(twin.scheduler, checkpoint.dump(cluster.scheduler))
    twin.now = cluster.now
    for op in after:
        changes = _changes(cluster, op)
        one = cluster.step(*changes, budget=Budget(2), after=op[2] * SECOND)
        other = twin.step(*changes, budget=Budget(2), after=op[2] * SECOND)
        assert _seen(one) == _seen(other)
        assert cluster.scheduler.next_due(cluster.now) == twin.scheduler.next_due(twin.now)
    assert checkpoint.dump(cluster.scheduler) == checkpoint.dump(twin.scheduler)


def test_dump_of_a_loaded_engine_is_the_same_bytes() -> None:
    cluster = _start()
    cluster.put(*[make_node(f"n{i}").build() for i in range(3)])
    cluster.step(*[make_pod(f"p{i}").req(cpu="1").build() for i in range(4)], make_pod("big").req(cpu="99").build())
    data = checkpoint.dump(cluster.scheduler)
    twin = _start()
    checkpoint.load(twin.scheduler, data)
    assert checkpoint.dump(twin.scheduler) == data


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00garbage", id="no checkpoint"),
        pytest.param(msgspec.msgpack.encode({"version": 0}), id="another version"),
        pytest.param(msgspec.msgpack.encode({"version": checkpoint.VERSION, "objects": []}), id="parts missing"),
        pytest.param(msgspec.msgpack.encode({"version": checkpoint.VERSION, "objects": [{}]}), id="bad object"),
    ],
)
def test_unreadable_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError):
        checkpoint.load(_start().scheduler, data)
