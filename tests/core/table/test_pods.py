"""Pods as columns: tallies by kind and by affinity terms, whatever comes and goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.pod_affinity import AffinityTerms, TermList
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo, PodKind
from scheduler_core.table import pods as pods_module
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.pods import PodColumns
from tests.builders import PodBuilder, make_node, make_pod
from tests.cases import cases


@dataclass(frozen=True)
class App:
    """Counts pods of the app."""

    name: str = "web"

    def times(self, kind: PodKind, /) -> int:
        return int(kind.labels.get("app") == self.name)


@dataclass(frozen=True)
class NumRequired:
    def times(self, terms: AffinityTerms, /) -> int:
        return len(terms.required)


class Everybody:
    """Counts all, and remembers who they were."""

    def __init__(self) -> None:
        self.seen: list[PodKind] = []

    def times(self, kind: PodKind, /) -> int:
        self.seen.append(kind)
        return 1


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _infos(*pods: PodBuilder) -> list[PodInfo]:
    return [PodInfo.of(pod.build()) for pod in pods]


def _columns(n_rows: int) -> PodColumns:
    columns = PodColumns()
    columns.show(n_rows)
    return columns


def _web(columns: PodColumns, n_rows: int) -> list[int]:
    counts: list[int] = columns.tally_of_kinds(App()).counts[:n_rows].tolist()
    return counts


@pytest.mark.parametrize("asked_first", [True, False], ids=["a tally that was there", "a tally made of what is there"])
def test_pods_are_counted_by_row(asked_first: bool) -> None:
    columns = _columns(3)
    if asked_first:
        assert _web(columns, 3) == [0, 0, 0]
    columns.write(0, _infos(make_pod("a").label(app="web"), make_pod("b").label(app="web"), make_pod("c")))
    columns.write(2, _infos(make_pod("d").label(app="web")))
    assert _web(columns, 3) == [2, 0, 1]
    assert columns.tally_of_kinds(Everybody()).counts[:3].tolist() == [3, 0, 1], "free slots are nobody"


def test_a_kind_tells_namespace_labels_and_deletion() -> None:
    columns, everybody = _columns(1), Everybody()
    columns.tally_of_kinds(everybody)
    everybody.seen.clear()
    pods = [make_pod("a"), make_pod("b", namespace="other"), make_pod("c").deleted(), make_pod("d").label(x="y")]
    columns.write(0, _infos(*pods, make_pod("e")))
    assert [(kind.namespace, kind.is_terminating, kind.labels) for kind in everybody.seen] == [
        ("default", False, {}),
        ("other", False, {}),
        ("default", True, {}),
        ("default", False, {"x": "y"}),
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_changed_pod_counts_as_it_is_now_wherever_it_stands(place: int) -> None:
    columns = _columns(1)
    infos = _infos(*(make_pod(name).label(app="web") for name in "abc"))
    columns.write(0, infos)
    assert _web(columns, 1) == [3]
    infos[place] = PodInfo.of(make_pod("abc"[place]).label(app="db").build())
    columns.write(0, infos)
    assert _web(columns, 1) == [2]
    columns.write(0, infos[1:])
    assert _web(columns, 1) == [1 if place else 2]
    columns.write(0, [])
    assert _web(columns, 1) == [0]


def test_the_list_that_was_written_may_change_later() -> None:
    columns = _columns(1)
    infos = _infos(make_pod("a").label(app="web"))
    columns.write(0, infos)
    assert _web(columns, 1) == [1]
    infos += _infos(make_pod("b").label(app="web"))
    columns.write(0, infos)
    assert _web(columns, 1) == [2]


def test_terms_are_shared_and_summed() -> None:
    columns = _columns(2)
    near = [make_pod(name).pod_affinity("zone", {"app": "web"}) for name in "ab"]
    columns.write(0, _infos(*near, make_pod("c")))
    columns.write(1, _infos(make_pod("d").pod_affinity("zone", {"app": "db"}, anti=True)))
    (required,) = columns.terms_in(TermList.REQUIRED, {"app": "web"})
    (anti,) = columns.terms_in(TermList.REQUIRED_ANTI, {"app": "db"})
    assert columns.tally_of_terms(required).counts[:2].tolist() == [2, 0]
    assert columns.tally_of_terms(anti).counts[:2].tolist() == [0, 1]
    assert not columns.has_terms(TermList.PREFERRED)


def test_a_term_a_pod_lists_twice_counts_twice() -> None:
    columns = _columns(1)
    columns.write(0, _infos(make_pod("a").pod_affinity("zone", {}).pod_affinity("zone", {}), make_pod("b")))
    (term,) = columns.terms_in(TermList.REQUIRED, {})
    assert columns.tally_of_terms(term).counts[0] == 2


def test_terms_are_forgotten_with_their_last_pod() -> None:
    columns = _columns(2)
    pods = _infos(*(make_pod(name).pod_affinity("zone", {"app": "web"}, anti=True) for name in "ab"))
    before = columns.terms_version
    columns.write(0, pods[:1])
    came = columns.terms_version
    columns.write(1, pods[1:])
    columns.write(0, [])
    assert columns.terms_version == came != before, "others still have them"
    columns.write(1, [])
    assert columns.terms_version != came
    assert not columns.has_terms(TermList.REQUIRED_ANTI)


@cases(
    "selector, labels, want",
    ("has the label", {"matchLabels": {"app": "web"}}, {"app": "web", "x": "y"}, 1),
    ("has another value", {"matchLabels": {"app": "web"}}, {"app": "db"}, 0),
    ("has one of several", {"matchExpressions": [_in("app", "web", "db", "web")]}, {"app": "db"}, 1),
    ("only In is looked up", {"matchExpressions": [{"key": "x", "operator": "Exists"}]}, {}, 1),
    ("everybody", {}, {}, 1),
    ("nobody", None, {"app": "web"}, 0),
)
def test_terms_are_found_by_a_label_they_need(
    selector: dict[str, Any] | None, labels: dict[str, str], want: int
) -> None:
    columns = _columns(1)
    term = {"topologyKey": "zone"} | ({} if selector is None else {"labelSelector": selector})
    pod = make_pod("a").spec(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    columns.write(0, _infos(pod))
    assert len(list(columns.terms_in(TermList.REQUIRED, labels))) == want
    columns.write(0, [])
    assert not list(columns.terms_in(TermList.REQUIRED, labels))


def test_terms_without_a_namespace_are_those_of_the_owners() -> None:
    columns = _columns(1)
    columns.write(0, _infos(*(make_pod("a", namespace=name).pod_affinity("zone", {}) for name in ("x", "y"))))
    assert [count.term.namespaces for count in columns.terms_in(TermList.REQUIRED, {})] == [
        frozenset({"x"}),
        frozenset({"y"}),
    ]


def test_tallies_least_recently_asked_for_are_given_up_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods_module, "MAX_TALLIES", 2)
    columns = _columns(1)
    first = columns.tally_of_kinds(App("a"))
    second = columns.tally_of_kinds(App("b"))
    assert columns.tally_of_kinds(App("a")) is first
    columns.tally_of_kinds(App("c"))
    columns.write(0, _infos(make_pod("x").label(app="a"), make_pod("y").label(app="b")))
    assert columns.tally_of_kinds(App("a")) is first
    assert (first.counts[0], second.counts[0]) == (1, 0), "the one given up hears of nothing"
    assert columns.tally_of_kinds(App("b")).counts[0] == 1


def test_tallies_grow_with_the_rows() -> None:
    columns = _columns(1)
    tally = columns.tally_of_kinds(App())
    columns.show(500)
    columns.write(499, _infos(make_pod("a").label(app="web")))
    assert tally.counts[499] == 1


_PODS = st.lists(
    st.tuples(st.sampled_from(["web", "db"]), st.booleans(), st.integers(0, 2)), max_size=4
)  # app, being deleted, terms


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.none() | _PODS, st.booleans()), max_size=20))
def test_counts_equal_a_recount_after_any_changes(
    changes: list[tuple[int, list[tuple[str, bool, int]] | None, bool]],
) -> None:
    """Nodes get pods, keep some of them, and are removed; rows are given out again."""
    table = NodeTable()
    infos: dict[str, NodeInfo] = {}
    for step, (number, wanted, asks) in enumerate(changes):
        name = f"n{number}"
        if asks:
            table.pods.tally_of_kinds(App()), table.pods.tally_of_terms(NumRequired())
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
    web, required = table.pods.tally_of_kinds(App()).counts, table.pods.tally_of_terms(NumRequired()).counts
    assert web.sum() == sum(info.pod.labels["app"] == "web" for each in infos.values() for info in each.pods)
    for name, node_info in infos.items():
        row = table.row_of[name]
        assert web[row] == sum(info.pod.labels["app"] == "web" for info in node_info.pods)
        assert required[row] == sum(len(info.terms.required) for info in node_info.pods)
    held = {term for info in infos.values() for pod_info in info.pods for term in pod_info.terms.required}
    found = [table.pods.terms_in(TermList.REQUIRED, {"app": app}) for app in ("web", "db")]
    assert {count.term for each in found for count in each} == held
