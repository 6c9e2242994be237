"""Dump, load, go on == go on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.errors import CheckpointError
from scheduler_core.model.effects import Effects
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, plain
from tests.core.scheduler.world import OPS, Op, changes_of, start_world
from tests.examples import examples


def _seen(effects: Effects) -> dict[str, Any]:
    return {
        "attempts": [plain(each) for each in effects.attempts],
        "rest": [effects.moves, effects.bindings, effects.status_patches, effects.events, effects.more],
    }


@examples(30)
@given(before=OPS, after=OPS, cycles=st.integers(0, 3))
def test_loaded_engine_goes_on_like_the_one_that_was_dumped(before: list[Op], after: list[Op], cycles: int) -> None:
    cluster = start_world()
    for op in before:
        cluster.step(*changes_of(cluster, op), budget=Budget(cycles), after=op[2] * SECOND)
    twin = start_world()
    checkpoint.load(twin.scheduler, checkpoint.dump(cluster.scheduler))
    twin.now = cluster.now
    for op in after:
        changes = changes_of(cluster, op)
        one = cluster.step(*changes, budget=Budget(2), after=op[2] * SECOND)
        other = twin.step(*changes, budget=Budget(2), after=op[2] * SECOND)
        assert _seen(one) == _seen(other)
        assert cluster.scheduler.next_due(cluster.now) == twin.scheduler.next_due(twin.now)
    assert checkpoint.dump(cluster.scheduler) == checkpoint.dump(twin.scheduler)


def test_dump_of_a_loaded_engine_is_the_same_bytes() -> None:
    cluster = start_world()
    cluster.put(*[make_node(f"n{i}").build() for i in range(3)])
    cluster.step(*[make_pod(f"p{i}").req(cpu="1").build() for i in range(4)], make_pod("big").req(cpu="99").build())
    data = checkpoint.dump(cluster.scheduler)
    twin = start_world()
    checkpoint.load(twin.scheduler, data)
    assert checkpoint.dump(twin.scheduler) == data


@cases(
    "data",
    ("nothing", b""),
    ("no checkpoint", b"\x00garbage"),
    ("another version", msgspec.msgpack.encode({"version": 0})),
    ("parts missing", msgspec.msgpack.encode({"version": checkpoint.VERSION, "objects": []})),
    ("bad object", msgspec.msgpack.encode({"version": checkpoint.VERSION, "objects": [{}]})),
)
def test_unreadable_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError):
        checkpoint.load(start_world().scheduler, data)
