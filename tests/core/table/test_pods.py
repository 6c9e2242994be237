"""Pods as columns: counts by kind and by affinity terms, whatever comes and goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.pods import PodColumns, PodKind
from tests.builders import PodBuilder, make_node, make_pod


def _infos(*pods: PodBuilder) -> list[PodInfo]:
    return [PodInfo.of(pod.build()) for pod in pods]


def _is_web(kind: PodKind) -> bool:
    return kind.labels.get("app") == "web"


def _columns(n_rows: int) -> PodColumns:
    columns = PodColumns()
    columns.show(n_rows)
    return columns


def test_pods_are_counted_by_row() -> None:
    columns = _columns(3)
    columns.write(0, _infos(make_pod("a").label(app="web"), make_pod("b").label(app="web"), make_pod("c")))
    columns.write(2, _infos(make_pod("d").label(app="web")))
    assert columns.count(_is_web).tolist() == [2, 0, 1]
    assert columns.count(lambda kind: True).tolist() == [3, 0, 1], "free slots are nobody"


def test_a_kind_tells_namespace_labels_and_deletion() -> None:
    columns = _columns(1)
    pods = [make_pod("a"), make_pod("b", namespace="other"), make_pod("c").deleted(), make_pod("d").label(x="y")]
    columns.write(0, _infos(*pods, make_pod("e")))
    seen: list[tuple[str, bool, dict[str, str]]] = []

    def note(kind: PodKind) -> bool:
        seen.append((kind.namespace, kind.is_terminating, dict(kind.labels)))
        return False

    columns.count(note)
    assert seen[1:] == [
        ("default", False, {}),
        ("other", False, {}),
        ("default", True, {}),
        ("default", False, {"x": "y"}),
    ]


def test_a_changed_pod_counts_as_it_is_now() -> None:
    columns = _columns(1)
    kept, changed = _infos(make_pod("a").label(app="web"), make_pod("b").label(app="web"))
    columns.write(0, [kept, changed])
    columns.write(0, [kept, *_infos(make_pod("b").label(app="db"))])
    assert columns.count(_is_web).tolist() == [1]


def test_terms_are_shared_and_summed() -> None:
    columns = _columns(2)
    near = [make_pod(name).pod_affinity("zone", {"app": "web"}) for name in "ab"]
    columns.write(0, _infos(*near, make_pod("c")))
    columns.write(1, _infos(make_pod("d").pod_affinity("zone", {"app": "db"}, anti=True)))
    assert [terms is not None and len(terms.required) for terms in columns.terms] == [0, 1, 0]
    assert columns.sum_by_terms(np.array([0, 5, -3])).tolist() == [10, -3]


def test_terms_without_a_namespace_are_those_of_the_owners() -> None:
    columns = _columns(1)
    columns.write(0, _infos(*(make_pod("a", namespace=name).pod_affinity("zone", {}) for name in ("x", "y"))))
    assert [terms and [term.namespaces for term in terms.required] for terms in columns.terms[1:]] == [
        [frozenset({"x"})],
        [frozenset({"y"})],
    ]


_PODS = st.lists(
    st.tuples(st.sampled_from(["web", "db"]), st.booleans(), st.integers(0, 2)), max_size=4
)  # app, being deleted, terms


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.none() | _PODS), max_size=20))
def test_counts_equal_a_recount_after_any_changes(
    changes: list[tuple[int, list[tuple[str, bool, int]] | None]],
) -> None:
    """Nodes get pods, keep some of them, and are removed; rows are given out again."""
    table = NodeTable()
    infos: dict[str, NodeInfo] = {}
    for step, (number, wanted) in enumerate(changes):
        name = f"n{number}"
        if wanted is None:
            if infos.pop(name, None) is not None:
                table.remove(name)
            continue
        info = infos.setdefault(name, NodeInfo(next_generation=lambda: 0))
        info.set_node(make_node(name).build())
        for old in info.pods[::2]:
            info.remove_pod(old.pod)
        for index, (app, deleted, terms) in enumerate(wanted):
            pod = make_pod(f"p{step}-{index}").label(app=app)
            for _ in range(terms):
                pod.pod_affinity("zone", {"app": app})
            info.add_pod(PodInfo.of((pod.deleted() if deleted else pod).build()))
        table.upsert(info)

    web, terms_of = table.pods.count(_is_web), table.pods.terms
    lengths = np.array([len(terms.required) if terms is not None else 0 for terms in terms_of])
    sums = table.pods.sum_by_terms(lengths)
    assert len(web) == len(sums) == len(table)
    assert web.sum() == sum(info.pod.labels["app"] == "web" for each in infos.values() for info in each.pods)
    for name, node_info in infos.items():
        row = table.row_of[name]
        assert web[row] == sum(info.pod.labels["app"] == "web" for info in node_info.pods)
        assert sums[row] == sum(len(info.terms.required) for info in node_info.pods)
