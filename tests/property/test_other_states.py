"""The searches see all positions, and an engine that was taken back and forth decides as one that never was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, product
from operator import attrgetter
from random import Random

import pytest

from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler.engine import Observer
from scheduler_core.scheduler.positions import (
    Position,
    Room,
    Verdict,
    is_at_or_above,
    least_agreeing,
    minima,
    near_agreeing,
)
from scheduler_core.scheduler.recent import BINDING, Changed, taken_back
from scheduler_core.scheduler.rewinding import decide_aside, rewound
from tests.builders import make, make_node, make_pod
from tests.core.scheduler.harness import SECOND, Cluster, plain, start

KINDS = ("Node", "Pod", "ReplicaSet", BINDING)
Changes = Mapping[str, list[Changed]]


def changed(kind: str, number: int, place: int) -> Changed:
    obj = make_node(f"n{place}").build() if kind == "Node" else make_pod(f"p{place}").on(f"n{place}").build()
    if kind == "ReplicaSet":
        obj = make("ReplicaSet", f"r{place}", spec={"selector": {"matchLabels": {"a": "b"}}, "template": {}})
    return Changed(kind, number, place, None, obj, place)


def drawn(draws: Random) -> Changes:
    """Up to seven changes of three kinds, whose numbers have gaps."""
    found: dict[str, list[Changed]] = {}
    for place in range(draws.randint(1, 7)):
        of_kind = found.setdefault(draws.choice(KINDS[:3]), [])
        of_kind.append(changed(KINDS[0], (of_kind[-1].number if of_kind else 0) + draws.randint(1, 2), place))
    return {kind: [Changed(kind, c.number, c.place, c.old, c.new, c.at) for c in found[kind]] for kind in found}


def every(changes: Changes, top: Position) -> Iterator[Position]:
    for each in product(*[range(top[kind] + 1) for kind in changes]):
        yield dict(zip(changes, each, strict=True))


class Rules:
    """A verdict by which of some changes are known, the turning ones; and how often it was asked."""

    def __init__(self, draws: Random, changes: Changes, share: float) -> None:
        self.turning = [each for found in changes.values() for each in found if draws.random() < 0.7]
        self.share, self.seed, self.asked = share, draws.random(), list[Position]()

    def agrees(self, position: Position) -> bool:
        known = [each.place for each in self.turning if each.number <= position[each.kind]]
        return Random(f"{self.seed}{known}").random() < self.share

    def judge(self, position: Position) -> Verdict:
        self.asked.append(position)
        return Verdict(self.agrees(position), self.turning.__contains__, self.turning[::2].__contains__)


@pytest.mark.parametrize("seed", range(60))
def test_searches_find_what_trying_everything_finds(seed: int) -> None:
    draws = Random(seed)
    changes = drawn(draws)
    top = {kind: found[-1].number + draws.randint(0, 1) for kind, found in changes.items()}
    least = minima({kind: draws.randint(0, top[kind]) for kind in changes} for _ in range(draws.randint(1, 3)))
    rules = Rules(draws, changes, draws.choice((0.1, 0.3, 0.6)))
    agreeing = [each for each in every(changes, top) if is_at_or_above(each, least) and rules.agrees(each)]
    assert bool(near_agreeing(Room(changes, top, least, top, 9), rules.judge).positions) == bool(agreeing)
    found = least_agreeing(Room(changes, top, least, top, 9), rules.judge)
    assert found.is_whole and minima(found.positions) == minima(agreeing)


@pytest.mark.parametrize("seed", range(20))
def test_what_was_not_tried_is_not_ruled_out(seed: int) -> None:
    draws = Random(seed)
    changes = drawn(draws)
    top = {kind: found[-1].number for kind, found in changes.items()}
    rules, tries = Rules(draws, changes, 0.2), draws.randint(0, 3)
    least = [dict.fromkeys(changes, 0)]
    room = Room(changes, top, least, top, 9)
    found = least_agreeing(room, lambda each: rules.judge(each) if len(rules.asked) < tries else None)
    for position in every(changes, top):
        assert not rules.agrees(position) or is_at_or_above(position, found.positions)


@pytest.mark.parametrize("seed", range(20))
def test_objects_are_no_older_than_their_newest_change_that_stays(seed: int) -> None:
    draws, changes = Random(seed), dict[str, list[Changed]]()
    pod, order = make_pod("p").on("n1").build(), []
    for place in range(6):
        kind = draws.choice(("Pod", BINDING))
        of_kind = changes.setdefault(kind, [])
        of_kind.append(Changed(kind, len(of_kind) + 1, place, None, pod, place))
        order.append(of_kind[-1])
    for position in every(changes, {kind: len(found) for kind, found in changes.items()}):
        back = taken_back(order[::-1], position)
        assert back == order[::-1][: len(back)]


def _taints(draws: Random, name: str) -> object:
    made = make_node(name).zone(draws.choice("ab")).capacity(cpu=str(draws.randint(2, 6)))
    return (made.taint("t") if draws.random() < 0.3 else made).build()


def _played(seed: int, cluster: Cluster) -> None:
    """Nodes and pods come, change and go within a second."""
    draws = Random(seed)
    cluster.put(*[_taints(draws, f"n{index}") for index in range(4)])  # type: ignore[arg-type]
    pods = []
    for index in range(14):
        cluster.now += SECOND // 20
        match draws.randrange(4):
            case 0:
                cluster.put(_taints(draws, f"n{draws.randrange(6)}"))  # type: ignore[arg-type]
            case 1 if pods:
                cluster.delete(pods.pop(draws.randrange(len(pods))))
            case 2:
                gone = cluster.scheduler.engine.store.get("Node", f"n{draws.randrange(6)}")
                if gone is not None:
                    cluster.delete(gone)
            case _:
                waiting = make_pod(f"p{index}").req(cpu="1").label(app="x").build()
                pods.append(waiting.on_node(f"n{draws.randrange(4)}"))
                cluster.put(waiting)
                cluster.put(pods[-1])


@pytest.mark.parametrize("seed", range(15))
def test_engine_that_was_taken_back_decides_as_before(seed: int) -> None:
    cluster, same = start(observer=Observer()), start(observer=Observer())
    _played(seed, cluster)
    _played(seed, same)
    engine = cluster.scheduler.engine
    assert engine.observer is not None
    asked = QueuedPodInfo(make_pod("q").req(cpu="1").label(app="x").build(), cluster.now, attempts=1)
    changes = engine.observer.recent.bearing_on(asked.pod, cluster.now)
    newest_first = sorted(chain.from_iterable(changes.values()), key=attrgetter("place"), reverse=True)
    draws = Random(seed)
    for _ in range(12):
        position = {kind: found[-1].number - draws.randint(0, len(found)) for kind, found in changes.items()}
        with rewound(engine, taken_back(newest_first, position)):
            decide_aside(engine, asked)
    ours, theirs = decide_aside(engine, asked), decide_aside(same.scheduler.engine, asked)
    assert ours is not None and theirs is not None
    assert plain(ours[0]) == plain(theirs[0])
    assert {obj.key for obj in engine.store} == {obj.key for obj in same.scheduler.engine.store}
