"""A snapshot as columns says what the snapshot says, in less."""

from collections.abc import Sequence
from typing import Any, get_type_hints

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from kschedweb.live.columns import snapshot_columns
from kschedweb.views import Cluster, Column, Cursor, NodeView, PodView, Snapshot, Throughput

CLUSTER = Cluster(id=1, name="c", lifecycle_mode="frozen", pace="run", pace_rate=None, seed=0, is_sample=False)
NOTHING = Throughput(seconds=1, since_ms=0, until_ms=0, carried=None, points=[])


def views(cls: type, *, max_size: int = 12) -> st.SearchStrategy[Any]:
    # Few different values, so that some columns repeat and others do not.
    known = {str: st.sampled_from(["", "a", "b"]), int: st.integers(0, 3), bool: st.booleans()}
    own = {
        "requests": st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 2)),
        "extended": st.dictionaries(st.just("gpu"), st.integers(0, 2)),
        "drain": st.sampled_from(["", "draining"]),
        "taints": st.lists(st.sampled_from(["a=b:NoSchedule", "c:NoExecute"]), max_size=2),
    }
    parts = {name: own[name] if name in own else known[kind] for name, kind in get_type_hints(cls).items()}
    return st.lists(st.builds(cls, **parts), max_size=max_size)


def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    plain = {
        name: column["values"] if column["rows"] is None else [column["values"][row] for row in column["rows"]]
        for name, column in columns.items()
    }
    return [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]


def snapshot(*, nodes: Sequence[NodeView] = (), pods: Sequence[PodView] = (), pods_left_out: int = 0) -> Snapshot:
    return Snapshot(
        cursor=Cursor(1, 2), cluster=CLUSTER, nodes=nodes, pods=pods, queue=[], events=[], attempts=[],
        throughput=NOTHING, pods_left_out=pods_left_out,
    )  # fmt: skip


@given(nodes=views(NodeView), pods=views(PodView))
def test_columns_are_the_rows_again(nodes: list[NodeView], pods: list[PodView]) -> None:
    made = snapshot(nodes=nodes, pods=pods, pods_left_out=3)
    sent = to_builtins(snapshot_columns(made))
    assert rows(sent["nodes"]) == [to_builtins(node) for node in nodes]
    assert rows(sent["pods"]) == [to_builtins(pod) for pod in pods]
    assert (sent["queue"], sent["pods_left_out"]) == ({}, 3)


def test_a_value_that_repeats_is_sent_once() -> None:
    pods = [
        PodView(
            uid=f"u{number}", key=f"default/p{number}", node="", phase="Pending", priority=0,
            requests={"cpu": 100, "memory": number % 2}, deleting=False, gated=False, nominated="", reason="",
            created_ms=number, scheduler="default-scheduler",
        )
        for number in range(6)
    ]  # fmt: skip
    made = snapshot(pods=pods)
    columns = snapshot_columns(made).pods
    assert columns["phase"] == Column(values=["Pending"], rows=[0] * 6)
    assert columns["requests"].rows == [0, 1, 0, 1, 0, 1]
    assert columns["uid"] == Column(values=[f"u{number}" for number in range(6)], rows=None)
