"""Round trip of the matrix, its size, and what happens to a damaged one."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard
from hypothesis import given

from scheduler_core.errors import TraceError
from scheduler_core.model.effects import Attempt, FilterRows, PostFilterRecord, PreemptionCandidate, PreemptionRecord
from scheduler_core.model.node_views import NodeCandidates, NodeNames, NodeStatuses
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.trace.codec import LAYOUT, decode, encode, is_of
from scheduler_core.trace.matrix import AttemptMatrix
from tests.builders import make_pod
from tests.cases import cases
from tests.core.trace.attempts import BOTH, CPU, attempts, indices, large_attempt, make_attempt
from tests.examples import examples

# large_attempt(12, 6, start=7) as layout 1 had it.
OF_LAYOUT_1 = bytes.fromhex(
    "0128b52ffd643e00a50700620e342f704d73b0ba43b2fe5903106d95f99bb10692a53b525e74ef24298821787bf82383b401"
    "e38da30674e26d0b506b2905bb5bd9a609689a657e2230cf23e12c20380ec4761b74f7f26ea6b20733e5a5b49d5313e6923e"
    "fef450bf0307c6d784d1bd6770c9515c3228bf8fd1d2fea48b2ea183328d5c134a1845160c4a2fb28f3aa1940ae56a614d52"
    "3b78b0bd2bda6ced535aaddd442ba808bc5f3a2098443e9c8ef2f8d094d0411a59b5a6d7a674f860145995bc6c609109152a"
    "7f94f5953f787fc34646259449cdd42a30b021bb0c100c004709e833d62ef0e007554cfb6d8e81f9410963b1284ca0c9dba9"
    "45da63d30c7de84331"
)


def names_of(attempt: Attempt) -> tuple[str, ...]:
    return attempt.node_order.names if attempt.node_order is not None else ()


def assert_same(left: Any, right: Any) -> None:
    """Equality that looks into arrays."""
    if isinstance(left, msgspec.Struct):
        assert type(left) is type(right)
        for name in left.__struct_fields__:
            assert_same(getattr(left, name), getattr(right, name))
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tolist() == right.tolist()
    else:
        assert left == right


@examples(60)
@given(attempts())
def test_decode_gives_back_what_was_encoded(attempt: Attempt) -> None:
    assert_same(decode(encode(attempt), names_of(attempt)), AttemptMatrix.of(attempt))


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("beyond", [0, 1], ids=["the last that fits", "one more"])
@pytest.mark.parametrize("sign", [1, -1], ids=["highest", "lowest"])
def test_scores_survive_the_round_trip_at_the_ends_of_each_width(bits: int, beyond: int, sign: int) -> None:
    attempt = large_attempt(12, 6)
    assert attempt.score_rows is not None
    end = (1 << (bits - 1)) - 1 if sign > 0 else -(1 << (bits - 1))
    attempt.score_rows.raw[0, 2] = end + sign * beyond
    decoded = decode(encode(attempt), names_of(attempt))
    assert_same(decoded, AttemptMatrix.of(attempt))


def test_large_matrix_survives_the_round_trip() -> None:
    attempt = large_attempt(5000, 500)
    assert_same(decode(encode(attempt), names_of(attempt)), AttemptMatrix.of(attempt))


def test_matrix_of_the_first_layout_is_still_read() -> None:
    attempt = large_attempt(12, 6, start=7)
    assert_same(decode(OF_LAYOUT_1, names_of(attempt)), AttemptMatrix.of(attempt))


@pytest.mark.parametrize("best_first", [True, False], ids=["the best by total", "others, as extenders may have it"])
def test_tied_nodes_survive_the_round_trip(best_first: bool) -> None:
    attempt = large_attempt(300, 120)
    assert attempt.tied is not None
    assert attempt.feasible is not None
    if not best_first:
        attempt.tied = attempt.feasible[3:5]
    assert_same(decode(encode(attempt), names_of(attempt)).tied, attempt.tied)


def test_more_statuses_than_a_byte_holds_survive_the_round_trip() -> None:
    statuses = tuple(Status.unresolvable(f"taint {n}", plugin="TaintToleration") for n in range(400))
    rows = FilterRows(np.arange(400, dtype=np.int32), np.arange(1, 401, dtype=np.uint16), statuses)
    attempt = make_attempt(400, filter_rows=rows)
    read = decode(encode(attempt), names_of(attempt))
    assert [verdict.status for verdict in read.rows()] == list(statuses)


@cases(
    "n_nodes, n_feasible, budget",
    ("2 KB at 5000 nodes", 5000, 500, 2048),
    ("2 KB at 1000 nodes", 1000, 420, 1024 * 2),
)
def test_matrix_keeps_to_its_budget(n_nodes: int, n_feasible: int, budget: int) -> None:
    assert len(encode(large_attempt(n_nodes, n_feasible))) <= budget


def test_rows_tell_each_node_its_status_and_scores() -> None:
    attempt = large_attempt(30, 4, start=28)
    read = {row.node_name: row for row in decode(encode(attempt), names_of(attempt)).rows()}
    assert attempt.score_rows is not None
    assert attempt.feasible is not None
    first = read[names_of(attempt)[int(attempt.feasible[0])]]
    assert first.status is SUCCESS
    assert first.total == sum(score.weighted for score in first.scores)
    assert [score.plugin for score in first.scores] == [name for name, _ in attempt.score_rows.plugins]
    assert [score.raw for score in first.scores] == attempt.score_rows.raw[:, 0].tolist()
    assert {row.status for row in read.values()} <= {SUCCESS, CPU, *attempt.filter_rows.statuses}  # type: ignore[union-attr]


def test_rows_show_a_nominated_node_that_no_walk_met() -> None:
    attempt = make_attempt(3, feasible=indices(2))
    (row,) = AttemptMatrix.of(attempt).rows()
    assert (row.node_name, row.feasible, row.total) == ("node-00002", True, None)


def test_rows_mark_the_extra_node_as_passed_but_not_feasible() -> None:
    rows = FilterRows(indices(0, 1, 2), np.array([0, 1, 0], dtype=np.uint8), (BOTH,))
    attempt = make_attempt(3, filter_rows=rows, feasible=indices(0))
    assert [(row.status, row.feasible) for row in AttemptMatrix.of(attempt).rows()] == [
        (SUCCESS, True),
        (BOTH, False),
        (SUCCESS, False),
    ]


@cases(
    "damage",
    ("empty", lambda blob: b""),
    ("another layout", lambda blob: bytes((LAYOUT + 1,)) + blob[1:]),
    ("cut", lambda blob: blob[: len(blob) // 2]),
    ("a flipped bit", lambda blob: blob[:-6] + bytes((blob[-6] ^ 1,)) + blob[-5:]),
    ("not compressed", lambda blob: blob[:1] + b"no frame"),
)
def test_damaged_matrix_is_refused(damage: Any) -> None:
    attempt = large_attempt(50, 20)
    with pytest.raises(TraceError):
        decode(damage(encode(attempt)), names_of(attempt))


def test_blob_is_of_the_attempt_it_was_made_of_however_it_is_compressed() -> None:
    attempt, other = large_attempt(40, 20), large_attempt(40, 21)
    blob = encode(attempt)
    content = zstandard.decompress(blob[1:])
    assert is_of(blob, attempt) and not is_of(blob, other)
    assert is_of(blob[:1] + zstandard.compress(content, 9), attempt)
    for changed in (content[:-1] + bytes([content[-1] ^ 1]), content[:-1], content + b"x"):
        assert not is_of(blob[:1] + zstandard.compress(changed), attempt)
    assert (
        not is_of(b"", attempt) and not is_of(blob[:-1], attempt) and not is_of(bytes([LAYOUT - 1]) + blob[1:], attempt)
    )


def test_matrix_of_another_node_order_is_refused() -> None:
    attempt = large_attempt(50, 20)
    with pytest.raises(TraceError, match="50 nodes, not 49"):
        decode(encode(attempt), names_of(attempt)[:-1])


def preempting() -> tuple[Attempt, PreemptionRecord]:
    """An attempt whose search for victims is told by node indices, and the same search told by names."""
    attempt = make_attempt(4)
    names = names_of(attempt)
    pods = [make_pod(name).build() for name in "abc"]
    search = PreemptionRecord(
        dry_run=True, potential_nodes=NodeNames(indices(2, 3, 0, 1), names), offset=2, num_candidates=4,
        candidates=NodeCandidates(indices(3, 0), names, [(pods[0], pods[1]), (pods[2],)], np.array([0, 1])),
        not_candidates=NodeStatuses(indices(2, 1), names, np.array([5, 1]), (CPU, BOTH, CPU, CPU, CPU, CPU)),
        tied=NodeNames(indices(3, 0), names), chosen=names[3], victims=("default/a", "default/b"),
        decided_by="number_of_victims",
    )  # fmt: skip
    attempt.post_filter = PostFilterRecord("Success", "", "", names[3], search)
    told = msgspec.structs.replace(
        search,
        potential_nodes=tuple(names[node] for node in (2, 3, 0, 1)),
        candidates=(
            PreemptionCandidate(names[3], ("default/a", "default/b"), 0),
            PreemptionCandidate(names[0], ("default/c",), 1),
        ),
        not_candidates=((names[2], CPU), (names[1], BOTH)),
        tied=(names[3], names[0]),
    )
    return attempt, told


def test_preemption_told_by_indices_is_stored_as_the_one_told_by_names() -> None:
    attempt, told = preempting()
    assert attempt.post_filter is not None and attempt.post_filter.preemption == told
    by_name = msgspec.structs.replace(
        attempt, post_filter=msgspec.structs.replace(attempt.post_filter, preemption=told)
    )
    assert encode(attempt) == encode(by_name)
    decoded = decode(encode(attempt), names_of(attempt)).post_filter
    assert decoded is not None and decoded.preemption == told


def test_preemption_of_an_older_blob_is_read_without_what_decided() -> None:
    attempt, told = preempting()
    payload = zstandard.ZstdDecompressor().decompress(encode(attempt)[1:])
    start = 4 + int.from_bytes(payload[:4], "little")
    header = msgspec.msgpack.decode(payload[4:start])
    assert header[15][4].pop() == "number_of_victims"
    packed = msgspec.msgpack.encode(header)
    older = len(packed).to_bytes(4, "little") + packed + payload[start:]
    decoded = decode(bytes((LAYOUT,)) + zstandard.ZstdCompressor().compress(older), names_of(attempt)).post_filter
    assert decoded is not None and decoded.preemption == msgspec.structs.replace(told, decided_by="")
