"""What `./ksched prune` asks and says."""

import json
from typing import Any

from kschedweb.ops import pruning
from tests.web.ops.conftest import Command, Service


def answer(**changes: Any) -> dict[str, Any]:
    return {"cut_at": None, "rows": {}, "more": False, "waits_for_checkpoint": False} | changes


def service(*answers: dict[str, Any]) -> Service:
    left = list(answers)
    return Service(lambda path, values: left.pop(0), ("a", "b"))


def test_a_cluster_is_asked_until_it_has_no_more_to_give(command: Command) -> None:
    cut = {"cut_at": "2026-01-01T00:00:00Z"}
    two = service(answer(rows={"log": 5}, more=True, **cut), answer(rows={"log": 2, "events": 0}, **cut))
    said = command(pruning.prune, two, "prune", "--cluster", "b", "--hours", "2")
    assert two.asked == [("POST", "/api/clusters/2/prune", {"hours": 2.0})] * 2
    assert (said.code, said.out) == (0, "b: cut at 2026-01-01T00:00:00Z; rows gone: log 7\n")


def test_programs_get_one_document(command: Command) -> None:
    done = answer(rows={"log": 5}), answer()
    said = command(pruning.prune, service(*done), "prune", "--json")
    assert (said.code, json.loads(said.out)) == (0, {"a": done[0], "b": done[1]})


def test_all_clusters_are_told_of(command: Command) -> None:
    said = command(pruning.prune, service(answer(), answer(waits_for_checkpoint=True)), "prune")
    assert (said.code, said.lines) == (
        0,
        ["a: nothing to clear away", "b: nothing went; there is no checkpoint yet that is old enough to be cut at"],
    )


def test_unknown_cluster_is_an_error(command: Command) -> None:
    said = command(pruning.prune, service(), "prune", "--cluster", "c")
    assert said.code == 1 and "no cluster named c" in said.err
