"""Attempts made up for trace tests: by hand, large from a seed, and by Hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler_core.model.effects import (
    Attempt,
    FilterRows,
    NodeOrder,
    NominatedTry,
    PostFilterRecord,
    PreemptionCandidate,
    PreemptionRecord,
    ScoreRows,
)
from scheduler_core.model.status import Code, Status

PLUGINS = (
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
)
CPU = Status.unschedulable("Insufficient cpu", plugin="NodeResourcesFit")
BOTH = Status.unschedulable("Insufficient memory", "Insufficient cpu", plugin="NodeResourcesFit")
TAINT = Status.unresolvable("node(s) had untolerated taint {dedicated: gpu}", plugin="TaintToleration")


def node_order(n_nodes: int) -> NodeOrder:
    return NodeOrder(f"order-of-{n_nodes}", tuple(f"node-{n:05}" for n in range(n_nodes)))


def large_attempt(n_nodes: int, n_feasible: int, *, seed: int = 1, start: int = 700) -> Attempt:
    """A cycle as a cluster of a few node shapes gives it: a walk from `start` until enough nodes were found."""
    draw = np.random.default_rng(seed)
    shape = draw.integers(0, 12, n_nodes)
    refused = np.isin(shape, (3, 7, 8))
    walk = ((np.arange(n_nodes) + start) % n_nodes).astype(np.int32)
    passed = np.flatnonzero(~refused[walk])
    if len(passed) > n_feasible:
        walk = walk[: passed[n_feasible] + 1]
    codes = np.where(refused[walk], (shape[walk] == 7) + 1, 0).astype(np.uint8)
    feasible = walk[codes == 0][:n_feasible]
    load = draw.integers(0, 8, n_nodes)[feasible]
    raw = np.zeros((len(PLUGINS), len(feasible)), dtype=np.int64)
    raw[0] = shape[feasible] % 2
    raw[1] = (shape[feasible] % 3) * 10
    raw[2] = 90 - 7 * load - shape[feasible] % 4
    raw[3] = 95 - 3 * load
    raw[4] = np.where(shape[feasible] == 1, 17, 0)
    normalized = raw.copy()
    normalized[0] = 100 - raw[0] * 100
    normalized[1] = raw[1] * 5
    weights = np.array([weight for _, weight in PLUGINS])
    totals = (normalized * weights[:, None]).sum(axis=0)
    return make_attempt(
        n_nodes, filter_rows=FilterRows(walk, codes, (CPU, TAINT)), feasible=feasible,
        score_rows=ScoreRows(PLUGINS, raw, normalized, totals, ("PodTopologySpread",)),
        tied=feasible[totals == totals.max()], node_name=node_order(n_nodes).names[int(feasible[totals.argmax()])],
        start_index=start, end_index=int((walk[-1] + 1) % n_nodes), evaluated_nodes=len(walk),
        num_nodes_to_find=n_feasible,
    )  # fmt: skip


def make_attempt(n_nodes: int, **fields: Any) -> Attempt:
    given: dict[str, Any] = {
        "pod_key": "shop/cart-0", "pod_uid": "uid-1", "attempt": 1, "profile": "default-scheduler",
        "started_at": 1_000_000, "result": "scheduled", "node_order": node_order(n_nodes),
    }  # fmt: skip
    return Attempt(**(given | fields))


def indices(*nodes: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(nodes, dtype=np.int32)


_reasons = st.text("abc é", max_size=6)
_statuses = st.builds(
    Status,
    st.sampled_from(list(Code)),
    st.lists(_reasons, max_size=3).map(tuple),
    st.none() | _reasons,
    st.sampled_from(["", "NodeName", "NodePorts"]),
)


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    """Attempts of every shape the contract allows, the unlikely ones included."""
    n_nodes = draw(st.integers(0, 12))
    nodes = st.integers(0, n_nodes - 1)
    fields: dict[str, Any] = {
        "pre_filter_status": draw(st.none() | _statuses),
        "pre_filter_node_names": draw(st.none() | st.lists(st.sampled_from("abc")).map(tuple)),
        "skip_filter_plugins": draw(st.lists(st.sampled_from("XYZ"), max_size=2).map(tuple)),
        "num_nodes_to_find": draw(st.none() | st.integers(0, 5000)),
        "start_index": draw(st.integers(0, 5000)),
        "end_index": draw(st.integers(0, 5000)),
    }
    if draw(st.booleans()):
        fields["nominated"] = NominatedTry("n", draw(st.booleans()), draw(st.none() | _statuses), draw(_reasons))
    if draw(st.booleans()):
        fields["post_filter"] = draw(_post_filters(node_order(n_nodes).names))
    if n_nodes and draw(st.booleans()):
        start, length = draw(nodes), draw(st.integers(0, n_nodes))
        walked = [(start + step) % n_nodes for step in range(length)]
        if draw(st.booleans()):
            walked = draw(st.permutations(walked))
        statuses = draw(st.lists(_statuses, max_size=4).map(tuple))
        codes = draw(st.lists(st.integers(0, len(statuses)), min_size=length, max_size=length))
        fields["filter_rows"] = FilterRows(indices(*walked), np.array(codes, dtype=np.uint8), statuses)
        if draw(st.booleans()):
            passed = [node for node, code in zip(walked, codes, strict=True) if code == 0]
            fields["feasible"] = indices(*passed[: draw(st.integers(0, len(passed)))])
    if n_nodes and "feasible" not in fields and draw(st.booleans()):
        fields["feasible"] = indices(*draw(st.lists(nodes, unique=True)))
    if "feasible" in fields and len(fields["feasible"]) > 1:
        fields["score_rows"] = draw(_scores(len(fields["feasible"])))
        fields["tied"] = fields["feasible"][: draw(st.integers(1, len(fields["feasible"])))]
    return make_attempt(n_nodes, **fields)


@st.composite
def _post_filters(draw: st.DrawFn, names: tuple[str, ...]) -> PostFilterRecord:
    record = PostFilterRecord("Success", "", draw(_reasons), draw(st.sampled_from([None, "", "n1"])))
    if not draw(st.booleans()):
        return record
    if not names:
        return replace(record, preemption=PreemptionRecord())
    keys = st.lists(st.sampled_from(["shop/a", "shop/b", "ops/é"]), unique=True).map(tuple)
    some = st.lists(st.sampled_from(names), unique=True)
    candidates = [PreemptionCandidate(name, draw(keys), draw(st.integers(0, 9))) for name in draw(some)]
    return replace(
        record,
        preemption=PreemptionRecord(
            dry_run=True,
            potential_nodes=tuple(draw(some)),
            offset=draw(st.integers(0, 5000)),
            num_candidates=draw(st.integers(0, 5000)),
            candidates=tuple(candidates),
            not_candidates=tuple((name, draw(_statuses)) for name in draw(some)),
            tied=tuple(draw(some)),
            chosen=draw(st.sampled_from(["", *names])),
            victims=draw(keys),
            cleared_nominations=draw(keys),
            decided_by=draw(st.sampled_from(["", "number_of_victims"])),
        ),
    )


@st.composite
def _scores(draw: st.DrawFn, n_feasible: int) -> ScoreRows:
    plugins = tuple((name, draw(st.integers(1, 100))) for name in draw(st.lists(st.sampled_from("PQR"), unique=True)))
    shape = (len(plugins), n_feasible)
    cells = len(plugins) * n_feasible
    normalized = np.array(draw(st.lists(st.integers(0, 100), min_size=cells, max_size=cells)), dtype=np.int64).reshape(
        shape
    )
    raw = normalized.copy()
    for column in range(len(plugins)):
        if draw(st.booleans()):
            bound = 2 ** draw(st.integers(1, 63))
            values = draw(st.lists(st.integers(-bound, bound - 1), min_size=n_feasible, max_size=n_feasible))
            raw[column] = values
    weights = np.array([weight for _, weight in plugins], dtype=np.int64)
    totals = (normalized * weights.reshape(-1, 1)).sum(axis=0)
    if draw(st.booleans()):
        totals = totals + draw(st.integers(0, 1000))  # an extender's share
    return ScoreRows(plugins, raw, normalized, totals, tuple(draw(st.lists(st.sampled_from("ST"), max_size=1))))
