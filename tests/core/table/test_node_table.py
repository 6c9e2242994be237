"""The node table: stable rows, columns that follow the nodes, and nothing left behind by nodes that went."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo
from scheduler_core.table import labels
from scheduler_core.table.images import MAX_COLUMNS
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.resources import CPU, EPHEMERAL_STORAGE, MAX_AMOUNT, MEMORY
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info
from tests.examples import examples

MIB = 1024 * 1024


@pytest.fixture
def table() -> NodeTable:
    return NodeTable()


def test_upsert_writes_every_column_when_the_node_is_new(table: NodeTable) -> None:
    node = make_node("a").capacity({"cpu": "4", "memory": "1Gi", "ephemeral-storage": "9", "example.com/gpu": "2"})
    pod = make_pod().req({"cpu": "500m", "memory": "64Mi", "example.com/gpu": "1"}).container().host_port(80)
    row = table.upsert(make_info(node.unschedulable(), pod))
    gpu = table.resources.index_of["example.com/gpu"]
    assert table.resources.allocatable[[CPU, MEMORY, EPHEMERAL_STORAGE, gpu], row].tolist() == [4000, 1024 * MIB, 9, 2]
    assert table.resources.requested[[CPU, MEMORY, EPHEMERAL_STORAGE, gpu], row].tolist() == [500, 64 * MIB, 0, 1]
    assert table.resources.non_zero_requested[:, row].tolist() == [600, 264 * MIB]
    assert (table.resources.pod_count[row], table.resources.allowed_pods[row]) == (1, 110)
    assert (table.live[row], table.unschedulable[row]) == (True, True)
    assert (table.names[row], table.row_of["a"], len(table)) == ("a", row, 1)


def test_sums_beyond_64_bits_stop_short_of_them(table: NodeTable) -> None:
    huge = [make_pod(f"p{i}").req({"cpu": "9P", "memory": "7Ei", "example.com/gpu": "9E"}) for i in range(2)]
    row = table.upsert(make_info(make_node("a"), *huge))
    assert table.resources.requested[[CPU, MEMORY], row].tolist() == [MAX_AMOUNT, MAX_AMOUNT]
    assert table.resources.requested[table.resources.index_of["example.com/gpu"], row] == MAX_AMOUNT
    assert table.resources.non_zero_requested[:, row].tolist() == [MAX_AMOUNT, MAX_AMOUNT]


def test_upsert_refuses_a_node_without_object() -> None:
    with pytest.raises(ValueError, match="without its object"):
        NodeTable().upsert(NodeInfo(next_generation=lambda: 0))


def test_a_node_keeps_its_row_while_others_come_and_go(table: NodeTable) -> None:
    rows = {name: table.upsert(make_info(make_node(name))) for name in "abc"}
    table.remove("b")
    assert table.upsert(make_info(make_node("d"))) == rows["b"], "a freed row is given to the next node"
    assert table.upsert(make_info(make_node("c").unschedulable())) == rows["c"]
    assert table.row_of == {"a": rows["a"], "c": rows["c"], "d": rows["b"]}
    assert len(table) == 3


def test_rows_keep_their_values_when_the_table_grows(table: NodeTable) -> None:
    table.label("n")
    infos = [
        make_info(
            make_node(f"n{i}").capacity(cpu=str(i)).label(n=str(i)).taint("t", str(i % 3)),
            make_pod().host_port(1000 + i),
            images={"app:1": (i + 1, 2)},
        )
        for i in range(150)
    ]
    image = None
    for info in infos:
        table.upsert(info)
        image = table.image("app:1")
    assert image is not None
    assert table.resources.allocatable[CPU].tolist() == [1000 * i for i in range(150)]
    assert [table.label("n").values.values[number] for number in table.label("n").ids] == [str(i) for i in range(150)]
    assert [table.taints.sets[number][0].value for number in table.taints.set_ids] == [str(i % 3) for i in range(150)]
    assert image.sizes.tolist() == list(range(1, 151))
    conflicting = table.ports.conflicting((("0.0.0.0", "TCP", 1149),))
    assert conflicting is not None
    assert np.flatnonzero(conflicting).tolist() == [149]


def test_a_scalar_resource_gets_its_column_at_first_sight(table: NodeTable) -> None:
    table.upsert(make_info(make_node("a")))
    for number in range(9):
        table.upsert(make_info(make_node(f"n{number}").capacity({f"example.com/r{number}": "7"})))
    assert table.resources.allocatable.shape == (12, 10)
    assert table.resources.allocatable[table.resources.index_of["example.com/r8"]].tolist() == [0] * 9 + [7]


def test_a_scalar_resource_reads_zero_when_the_node_stops_naming_it(table: NodeTable) -> None:
    row = table.upsert(make_info(make_node("a").capacity({"example.com/gpu": "7"})))
    table.upsert(make_info(make_node("a")))
    assert table.resources.allocatable[table.resources.index_of["example.com/gpu"], row] == 0


def test_a_label_column_is_made_on_first_use_and_kept_up(table: NodeTable) -> None:
    for name, zone in (("a", "z1"), ("b", "z2"), ("c", "z1")):
        table.upsert(make_info(make_node(name).zone(zone)))
    column = table.label("topology.kubernetes.io/zone")
    assert column.holds_any(["z1"]).tolist() == [True, False, True]
    assert column.holds_any(["z1", "z2", "elsewhere"]).tolist() == [True, True, True]
    table.upsert(make_info(make_node("a").zone("z3")))
    table.upsert(make_info(make_node("c")))
    assert column.holds_any(["z1"]).tolist() == [False, False, False]
    assert column.has_key.tolist() == [True, True, False]


def test_taint_sets_are_shared_whenever_the_taints_were_added(table: NodeTable) -> None:
    for name in "abc":
        table.upsert(make_info(make_node(name).taint("k", "v") if name != "b" else make_node(name)))
    assert table.taints.set_ids.tolist() == [1, 0, 1]
    assert [taint.key for taint in table.taints.sets[1]] == ["k"]


@cases(
    "wanted, rows",
    ("the wildcard address wants every address", ("0.0.0.0", "TCP", 80), [0, 1]),
    ("an address conflicts with itself and with the wildcard", ("10.0.0.1", "TCP", 80), [0, 1]),
    ("another address conflicts with the wildcard only", ("10.0.0.2", "TCP", 80), [1]),
    ("another protocol is free", ("0.0.0.0", "UDP", 80), None),
    ("another port is free", ("0.0.0.0", "TCP", 81), None),
)
def test_ports_conflicting_names_the_rows(wanted: tuple[str, str, int], rows: list[int] | None) -> None:
    table = NodeTable()
    table.upsert(make_info(make_node("a"), make_pod().host_port(80, ip="10.0.0.1")))
    table.upsert(make_info(make_node("b"), make_pod().host_port(80)))
    table.upsert(make_info(make_node("c")))
    conflicting = table.ports.conflicting((wanted,))
    assert (None if conflicting is None else np.flatnonzero(conflicting).tolist()) == rows


def test_a_freed_port_conflicts_no_longer(table: NodeTable) -> None:
    table.upsert(make_info(make_node("a"), make_pod().host_port(80)))
    table.upsert(make_info(make_node("a")))
    assert table.ports.conflicting((("0.0.0.0", "TCP", 80),)) is None


def test_an_image_column_follows_the_states_of_each_node(table: NodeTable) -> None:
    table.upsert(make_info(make_node("a"), images={"app:1": (100, 2), "db:1": (7, 1)}))
    table.upsert(make_info(make_node("b")))
    column = table.image("app:1")
    assert column is not None
    assert (column.sizes.tolist(), column.num_nodes.tolist()) == ([100, 0], [2, 0])
    table.upsert(make_info(make_node("b"), images={"app:1": (100, 3)}))
    table.upsert(make_info(make_node("a"), images={"db:1": (7, 1)}))
    assert (column.sizes.tolist(), column.num_nodes.tolist()) == ([0, 100], [0, 3])
    table.remove("b")
    assert table.image("app:1") is None


def test_image_columns_are_made_again_when_too_many_were_asked_for(table: NodeTable) -> None:
    table.upsert(make_info(make_node("a"), images={"app:1": (100, 2)}))
    assert table.image("app:1") is not None
    for number in range(MAX_COLUMNS):
        assert table.image(f"other:{number}") is None
    table.upsert(make_info(make_node("a"), images={"app:1": (200, 2)}))
    column = table.image("app:1")
    assert column is not None
    assert column.sizes.tolist() == [200]


def test_label_columns_not_asked_for_lately_are_made_again(table: NodeTable) -> None:
    table.upsert(make_info(make_node("a").label(zone="z1")))
    assert table.label("zone").holds_any(("z1",)).tolist() == [True]
    for number in range(labels.MAX_COLUMNS):
        assert not table.label(f"other-{number}").has_key.any()
    table.upsert(make_info(make_node("a").label(zone="z2")))
    assert table.label("zone").holds_any(("z2",)).tolist() == [True]


def test_changed_rows_are_told_by_version(table: NodeTable) -> None:
    infos = {name: make_info(make_node(name)) for name in "abc"}
    for info in infos.values():
        table.upsert(info)
    before = table.version
    infos["b"].add_pod(PodInfo.of(make_pod().build()))
    table.upsert(infos["b"])
    assert table.rows_changed_since(before).tolist() == [1]
    assert table.nodes_version <= before, "only its pods changed"
    table.remove("c")
    assert table.rows_changed_since(before).tolist() == [1, 2]
    assert table.nodes_version == table.version


def test_every_row_counts_as_changed_when_the_journal_does_not_reach_back(table: NodeTable) -> None:
    infos = [make_info(make_node(name)) for name in "abc"]
    for info in infos:
        table.upsert(info)
    before = table.version
    for _ in range(1000):
        table.upsert(infos[1])
    assert table.rows_changed_since(table.version).tolist() == []
    assert table.rows_changed_since(table.version - 2).tolist() == [1, 1]
    assert table.rows_changed_since(before).tolist() == [0, 1, 2]


names = st.sampled_from(["a", "b", "c", "d"])
steps = st.lists(
    st.tuples(
        names,
        st.sampled_from(["remove", "put", "put", "pod"]),
        st.sampled_from(["", "z1", "z2", "z3"]),
        st.sampled_from(["", "t1", "t2"]),
        st.sampled_from([None, "example.com/gpu", "example.com/tpu"]),
        st.sampled_from([0, 80, 443]),
        st.sampled_from([{}, {"app:1": (5, 1)}, {"app:1": (5, 2), "db:1": (9, 1)}]),
    ),
    max_size=12,
)


@examples(30)
@given(steps=steps, asked_early=st.booleans())
def test_a_changed_table_equals_a_fresh_one(steps: list[tuple], asked_early: bool) -> None:  # type: ignore[type-arg]
    table = NodeTable()
    current: dict[str, NodeInfo] = {}
    for name, action, zone, taint, resource, port, images in steps:
        if asked_early:
            table.label("zone")
            table.image("app:1")
        if action == "remove":
            if name in current:
                table.remove(name)
                del current[name]
            continue
        if action == "put" or name not in current:
            node = make_node(name).capacity({resource: "3"} if resource else {})
            node = node.label(zone=zone) if zone else node
            node = node.taint(taint) if taint else node
            current[name] = make_info(node, images=images)
        if port:
            current[name].add_pod(PodInfo.of(make_pod(f"{name}-{port}").req(cpu="1").host_port(port).build()))
        table.upsert(current[name])
    fresh = NodeTable()
    for info in current.values():
        fresh.upsert(info)
    assert table.row_of.keys() == fresh.row_of.keys() == current.keys()
    assert table.live.sum() == len(current)
    for name in current:
        assert _shown(table, name) == _shown(fresh, name)
    dead = ~table.live
    for array in (table.resources.allocatable, table.resources.requested, table.resources.non_zero_requested):
        assert not array[:, dead].any(), "a free row holds zeros"
    assert not table.resources.pod_count[dead].any()


def _shown(table: NodeTable, name: str) -> dict[str, object]:
    """All the table says of a node, in terms that do not depend on numbering."""
    row = table.row_of[name]
    resources = table.resources
    zone = int(table.label("zone").ids[row])
    shown: dict[str, object] = {
        "allocatable": {r: int(resources.allocatable[i, row]) for r, i in resources.index_of.items()},
        "requested": {r: int(resources.requested[i, row]) for r, i in resources.index_of.items()},
        "non-zero": resources.non_zero_requested[:, row].tolist(),
        "pods": (int(resources.pod_count[row]), int(resources.allowed_pods[row])),
        "taints": [taint.key for taint in table.taints.sets[table.taints.set_ids[row]]],
        "zone": table.label("zone").values.values[zone] if zone >= 0 else None,
        "info": id(table.node_infos[row]),
    }
    for part in ("allocatable", "requested"):  # a column of zeros may be there or not
        amounts = shown[part]
        assert isinstance(amounts, dict)
        shown[part] = {resource: amount for resource, amount in amounts.items() if amount}
    for port in (80, 443):
        conflicting = table.ports.conflicting((("0.0.0.0", "TCP", port),))
        shown[f"port {port}"] = conflicting is not None and bool(conflicting[row])
    for image in ("app:1", "db:1"):
        column = table.image(image)
        held = column is not None and column.num_nodes[row] > 0
        shown[image] = (int(column.sizes[row]), int(column.num_nodes[row])) if column is not None and held else None
    return shown


def test_numbers_of_labels_and_taints_stay_small_while_nodes_churn(table: NodeTable) -> None:
    column = table.label("host")
    for number in range(50):
        table.upsert(make_info(make_node("a").label(host=f"h{number}").taint(f"t{number}")))
        table.upsert(make_info(make_node("b").label(host="same").taint("same")))
    assert len(column.values) <= 3
    assert len(table.taints.sets) <= 4
    assert table.taints.sets.count(()) == 2, "the set of a node without taints, and the one freed last"
