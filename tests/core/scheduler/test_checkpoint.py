"""Dump, load, go on == go on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.errors import CheckpointError
from scheduler_core.model.changes import BindingVerdict, Change, ObjectDeleted, ObjectPut, PermitVerdict
from scheduler_core.model.effects import Effects
from scheduler_core.model.status import SUCCESS, WAIT
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import SECOND, BindingPlugin, Cluster, ToldPlugins, plain, profile, start

Op = tuple[str, int, int]

_OPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["node", "node", "cordon", "drop node", "pod", "pod", "pod", "pod", "grow", "drop pod", "bound", "refused",
             "allow", "wait"]
        ),
        st.integers(0, 7),
        st.integers(0, 3),
    ),
    min_size=2,
    max_size=40,
)  # fmt: skip


def _start() -> Cluster:
    plugins = ToldPlugins().add(
        "Hold", BindingPlugin, permit=lambda pod, node: (WAIT, 5 * SECOND) if "hold" in pod.labels else (SUCCESS, 0)
    )
    return start(profile("Hold", default=True), plugins=plugins, draws=SeededDraws(7))


def _changes(cluster: Cluster, op: Op) -> list[Change]:
    what, i, size = op
    store = cluster.scheduler.engine.store
    bindings = list(cluster.scheduler.engine.bindings.values())
    match what:
        case "node":
            return [ObjectPut(make_node(f"n{i}").zone(f"z{i % 2}").capacity(cpu=str(1 + size)).build())]
        case "cordon":
            return [ObjectPut(make_node(f"n{i}").zone(f"z{i % 2}").unschedulable().build())]
        case "drop node":
            return [ObjectDeleted("Node", "", f"n{i}")]
        case "pod" | "grow":
            pod = make_pod(f"p{i}").req(cpu=str(1 + size)).priority(size).label(app=what)
            if i % 3 == 0:
                pod.label(hold="yes")
            stored = store.pod(f"default/p{i}")
            return [] if stored is not None and stored.is_assigned else [ObjectPut(pod.build())]
        case "drop pod":
            return [ObjectDeleted("Pod", "default", f"p{i}")]
        case "allow":
            return [PermitVerdict(f"pod-default/p{i}", "Hold", allowed=size > 0, message="no")]
        case "bound" | "refused" if bindings:
            cycle = bindings[i % len(bindings)]
            verdict = BindingVerdict(cycle.pod.uid, cycle.node_name, bound=what == "bound", message="conflict")
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


@settings(max_examples=40, deadline=None)
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
