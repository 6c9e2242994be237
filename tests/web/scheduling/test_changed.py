"""What changed between two attempts at a pod: planted causes, found by node, and what no entry explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from kschedweb.cluster.models import Change, Cluster
from kschedweb.cluster.services import scheduler_config_set
from kschedweb.cluster.services.requests import object_delete
from kschedweb.scheduling.past import changed, turning
from kschedweb.traces.models import Attempt
from scheduler_core.model.status import Status
from tests.builders import make_node, make_pod, scheduler_config
from tests.examples import seeds
from tests.waiting import HANG_SECONDS
from tests.web.rest import get
from tests.web.scheduling.conftest import lead, put, scheduled, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

HOST = "kubernetes.io/hostname"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turning, "MOST_SECONDS", HANG_SECONDS)


def asked(cluster: Cluster, seq: int, query: str = "", status: int = 200) -> Any:
    return get(cluster, f"attempts/{seq}/changed{query}", status)


def node(name: str, cpu: str = "4") -> Any:
    return make_node(name).label({HOST: name, "disk": "ssd"}).capacity(cpu=cpu, memory="8Gi", pods="10")


def it() -> Any:
    return make_pod("it").req(cpu="8").node_selector(disk="ssd")


def last_rv(cluster: Cluster) -> int:
    return Cluster.objects.get(pk=cluster.pk).rv


def attempts(cluster: Cluster) -> list[Attempt]:
    return list(Attempt.objects.filter(cluster=cluster, name="it").order_by("seq"))


def delete_node(cluster: Cluster, name: str) -> None:
    object_delete(cluster_id=cluster.pk, kind="Node", namespace="", name=name, actor="somebody", grace_seconds=0)


def wake(cluster: Cluster, name: str = "n4") -> None:
    """Make the scheduler try the pod again, in vain: there is room, and a taint."""
    put(cluster, node(name, cpu="16").taint("only"))


Plant = Callable[[Cluster], None]
# What is done, of whom the verdict of which node turns, and to what.
CAUSES: dict[str, tuple[Plant, str, str]] = {
    "cordon": (lambda c: put(c, node("n1").unschedulable()), "n1", "NodeUnschedulable"),
    "taint": (lambda c: put(c, node("n1").taint("only", effect="NoSchedule")), "n1", "TaintToleration"),
    "label": (lambda c: put(c, node("n1").label({"disk": "hdd"})), "n1", "NodeAffinity"),
    "more room": (lambda c: put(c, node("n1", cpu="16")), "n1", ""),
    "places for pods": (lambda c: put(c, node("n1").capacity(cpu="4", memory="8Gi", pods="0")), "n1",
                        "NodeResourcesFit"),
    "node added": (lambda c: put(c, node("n9")), "n9", "NodeResourcesFit"),
}  # fmt: skip


def noise(cluster: Cluster, draws: Random) -> None:
    for _ in range(draws.randrange(6)):
        put(cluster, make_pod(f"small-{draws.randrange(10**9)}").req(cpu="1m").on("n2"))


@pytest.mark.parametrize("seed", seeds(len(CAUSES), 100))
def test_planted_cause_is_found(cluster: Cluster, seed: int) -> None:
    draws = Random(seed)
    plant, name, plugin = list(CAUSES.values())[seed % len(CAUSES)]
    host = scheduled(cluster, node("n1"), node("n2"), it())
    noise(cluster, draws)
    plant(cluster)
    planted = last_rv(cluster)
    noise(cluster, draws)
    wake(cluster)
    settle(host)
    rows = attempts(cluster)
    first, last = rows[0], next(row for row in rows if row.rv >= planted)
    said = asked(cluster, last.seq, f"?since={first.seq}")
    assert (said["difference"], said["since"], said["seq"]) == (None, first.seq, last.seq)
    row = next(each for each in said["rows"] if each["node"] == name)
    assert (row["by"], row["rv"]) == ("entry", planted)
    assert (row["after"]["plugin"] if row["after"] else "") == plugin
    assert row["was_there"] is (name != "n9")
    entry = next(each for each in said["entries"] if each["rv"] == planted)
    change = Change.objects.get(cluster_id=cluster.pk, rv=planted)
    assert (entry["kind"], entry["name"], entry["actor"], entry["nodes"]) == ("Node", name, change.actor, 1)


def two_attempts(cluster: Cluster) -> tuple[Attempt, Attempt, int, int]:
    """n1 is cordoned, then n2 goes; n3 gets nothing."""
    host = scheduled(cluster, node("n1"), node("n2"), node("n3"), it())
    put(cluster, node("n1").unschedulable())
    cordoned = last_rv(cluster)
    delete_node(cluster, "n2")
    gone = last_rv(cluster)
    wake(cluster)
    settle(host)
    first, *_, last = attempts(cluster)
    return first, last, cordoned, gone


def test_each_node_has_its_own_entry(cluster: Cluster) -> None:
    first, last, cordoned, gone = two_attempts(cluster)
    said = asked(cluster, last.seq)
    assert (said["since"], said["since_number"], said["number"]) == (first.seq, 1, 2)
    assert (said["nodes"], said["changed"], said["since_rv"], said["rv"]) == (4, 3, first.rv, last.rv)
    found = {each["node"]: (each["by"], each["rv"], each["was_there"], each["is_there"]) for each in said["rows"]}
    assert found == {
        "n1": ("entry", cordoned, True, True),
        "n2": ("entry", gone, True, False),
        "n4": ("entry", gone + 1, False, True),
    }
    assert [each["rv"] for each in said["entries"]] == [cordoned, gone, gone + 1]
    assert [each["actor"] for each in said["entries"]] == ["test", "somebody", "test"]
    one = asked(cluster, last.seq, "?limit=1")
    assert (len(one["rows"]), one["changed"], len(one["entries"])) == (1, 3, 3)


def test_node_that_turned_more_than_once(cluster: Cluster) -> None:
    """It was cordoned, uncordoned, and cordoned again."""
    host = scheduled(cluster, node("n1"), it())
    for cordoned in (node("n1").unschedulable(), node("n1"), node("n1").unschedulable()):
        put(cluster, cordoned)
    last = last_rv(cluster)
    wake(cluster)
    settle(host)
    said = asked(cluster, attempts(cluster)[-1].seq)
    assert {each["node"]: each["rv"] for each in said["rows"]}["n1"] in (last, last - 2)


def test_attempts_are_those_that_are_named(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1"), it())
    for name in ("n2", "n3"):
        wake(cluster, name)
        settle(host)
    rows = attempts(cluster)
    said = asked(cluster, rows[-1].seq, f"?since={rows[-2].seq}")
    assert [each["node"] for each in said["rows"]] == ["n3"]


def test_another_configuration(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1").unschedulable(), it())
    text = scheduler_config(
        profiles=[{"schedulerName": "default-scheduler", "plugins": {
            "multiPoint": {"disabled": [{"name": "NodeUnschedulable"}, {"name": "TaintToleration"}]}}}]
    )  # fmt: skip
    scheduler_config_set(cluster_id=cluster.pk, content=text.encode(), actor="ann")
    put(cluster, node("n2"))
    settle(lead(cluster, "other"))
    del host
    rows = attempts(cluster)
    assert rows[0].config_version != rows[-1].config_version
    said = asked(cluster, rows[-1].seq, f"?since={rows[0].seq}")
    found = {each["node"]: (each["by"], each["rv"]) for each in said["rows"]}
    assert found["n1"] == ("configuration", None)
    assert found["n2"][0] == "entry"


def test_entry_that_another_engine_does_not_confirm_is_not_told(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, last, *_ = two_attempts(cluster)
    monkeypatch.setattr(changed._Search, "_proven", lambda self: [(name, False) for name in list(self.found)])
    said = asked(cluster, last.seq)
    assert {each["by"] for each in said["rows"]} == {"unproven"}
    assert (said["entries"], {each["rv"] for each in said["rows"]}) == ([], {None})


def test_search_ends_when_its_time_is_over(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    _, last, *_ = two_attempts(cluster)
    monkeypatch.setattr(turning, "MOST_SECONDS", -1.0)
    assert {each["by"] for each in asked(cluster, last.seq)["rows"]} == {"late"}


def test_what_nothing_that_was_stored_turned(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a node that both attempts say otherwise of than what was stored."""
    first, last, *_ = two_attempts(cluster)
    real = changed.attempt_verdicts

    def with_another(**given: Any) -> Any:
        found, apart = real(**given)
        return dict(found) | {"n3": Status.unschedulable(f"only at {given['seq']}")}, apart

    monkeypatch.setattr(changed, "attempt_verdicts", with_another)
    found = {each["node"]: each["by"] for each in asked(cluster, last.seq)["rows"]}
    assert found["n3"] == "assumed"
    assert first.seq < last.seq


def test_what_is_refused(cluster: Cluster) -> None:
    first, last, *_ = two_attempts(cluster)
    assert asked(cluster, first.seq, "", 422)["code"] == "invalid"
    assert asked(cluster, first.seq, f"?since={last.seq}", 422)["code"] == "invalid"
    assert asked(cluster, 10**6, "", 404)["code"] == "not_found"
    assert asked(cluster, last.seq, "?since=0", 400)["code"]


def test_what_comes_out_otherwise_is_told(cluster: Cluster) -> None:
    first, last, *_ = two_attempts(cluster)
    Attempt.objects.filter(pk=first.pk).update(message="other")
    said = asked(cluster, last.seq)
    assert (said["difference"]["field"], said["rows"]) == ("message", [])


class Drawn:
    """Nodes that come, go and change at random; by position of the log, what refuses the pod on each."""

    def __init__(self, cluster: Cluster, draws: Random) -> None:
        self.cluster = cluster
        self.draws = draws
        self.there: dict[str, dict[str, bool]] = {}
        self.plugins: dict[int, dict[str, str]] = {}

    def change(self, name: str) -> None:
        traits = self.there.get(name)
        if traits is not None and self.draws.random() < 0.2:
            del self.there[name]
            delete_node(self.cluster, name)
        else:
            traits = {trait: self.draws.random() < 0.3 for trait in ("cordoned", "tainted", "tape")}
            if traits == self.there.get(name):
                return
            self.there[name] = traits
            built = node(name).label({"disk": "tape" if traits["tape"] else "ssd"})
            built = built.unschedulable() if traits["cordoned"] else built
            put(self.cluster, built.taint("only") if traits["tainted"] else built)
        self.plugins[last_rv(self.cluster)] = {each: self._plugin(each) for each in self.there}

    def _plugin(self, name: str) -> str:
        """The first that refuses it, in the order of filters."""
        traits = self.there[name]
        if traits["cordoned"]:
            return "NodeUnschedulable"
        if traits["tainted"]:
            return "TaintToleration"
        return "NodeAffinity" if traits["tape"] else "NodeResourcesFit"

    def at(self, rv: int) -> dict[str, str]:
        """By node that was there."""
        return self.plugins[max(each for each in self.plugins if each <= rv)]


@pytest.mark.parametrize("seed", seeds(4, 60))
def test_every_figure_is_that_of_the_nodes(cluster: Cluster, seed: int) -> None:
    draws = Random(seed)
    drawn, names = Drawn(cluster, draws), [f"n{number}" for number in range(5)]
    for name in names:
        drawn.change(name)
    host = scheduled(cluster, it())
    for _ in range(draws.randint(3, 20)):
        drawn.change(draws.choice(names))
    wake(cluster, "waker")
    drawn.plugins[last_rv(cluster)] = {each: drawn._plugin(each) for each in drawn.there} | {"waker": "TaintToleration"}
    settle(host)
    first, *_, last = attempts(cluster)
    said = asked(cluster, last.seq, f"?since={first.seq}")
    before, after = drawn.at(first.rv), drawn.at(last.rv)
    want = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {each["node"] for each in said["rows"]} == want
    assert (said["changed"], said["nodes"]) == (len(want), len(before.keys() | after.keys()))
    for row in said["rows"]:
        name = row["node"]
        assert (row["before"]["plugin"] if row["was_there"] else None) == before.get(name)
        assert (row["after"]["plugin"] if row["is_there"] else None) == after.get(name)
        assert row["by"] == "entry"
        turned = drawn.at(row["rv"] - 1).get(name), drawn.at(row["rv"]).get(name)
        assert turned[0] != turned[1] == after.get(name)
    assert {each["rv"]: each["nodes"] for each in said["entries"]} == dict(
        sorted(Counter(row["rv"] for row in said["rows"]).items())
    )
