"""What `./ksched cache` asks and prints."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from kschedweb.ops import caching, showing
from kschedweb.ops.client import Refused
from tests.web.ops.conftest import Command, Said, Service

NODES = [
    ("n1", 31, 28, False, True),
    ("n2", 25, 25, False, True),
    ("n3", 9, 9, False, False),
    ("n4", 30, None, False, False),
    ("n5", 29, 8, True, False),
    ("n6", None, 7, False, False),
]
POD = {"uid": "u", "node": "n1", "attempt": None, "attempt_seq": None, "assumed_at": None, "confirmed_at": None}
PODS = [
    POD
    | {
        "key": "web/a",
        "stage": "permit",
        "attempt": 2,
        "assumed_at": "2026-11-25T22:55:01.5+00:00",
        "awaits": ["Gang"],
        "until": "2026-11-25T22:56:01+00:00",
    },
    POD | {"key": "web/b", "stage": "binding", "awaits": [], "until": None},
    POD | {"key": "web/c", "stage": "bound", "awaits": [], "until": None},
    POD
    | {"key": "web/d", "stage": "confirmed", "confirmed_at": "2026-11-25T22:55:02+00:00", "awaits": [], "until": None},
]


def answer(path: str, _: Any) -> Any:
    if "find=none" in path:
        raise Refused("a mirror decides nothing")
    snapshot = {"generation": 28, "since": 20, "changed": 2, "dropped": ["n9"], "behind": 4, "nodes": 5}
    if "find=early" in path:
        snapshot |= {"since": None, "changed": None, "dropped": []}
    names = ("name", "generation", "snapshot_generation", "is_ghost", "changed")
    return {
        "rv": 5,
        "seq": 7,
        "assumed": 3,
        "confirmed": 1200,
        "generation": 31,
        "snapshot": snapshot,
        "nodes_total": 5,
        "nodes": [dict(zip(names, node, strict=True)) | {"pods": 3, "assumed": 1} for node in NODES],
        "pods_found": 1203,
        "pods": PODS,
    }


def show(command: Command, *words: str, at: str | None = None) -> tuple[Said, list[dict[str, str]]]:
    service = Service(answer, ("prod",))
    given = ("cache", "prod") if at is None else ("at", "prod", at, "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caching, "connect", lambda _: service)
        said = command(caching.show if at is None else showing.show, service, *given, *words)
    return said, [dict(parse_qsl(urlsplit(path).query)) for path in service.paths]


def test_cache_is_told_with_what_the_last_snapshot_changed(command: Command) -> None:
    said, asked = show(command)
    assert (said.code, asked) == (0, [{"limit": "50"}])
    assert said.lines[:4] == [
        "at 5.7: 3 pods assumed, 1,200 confirmed",
        "cache: 5 nodes, generation 31; last snapshot: 5 nodes, generation 28, 4 behind",
        "it took over 2 nodes changed after generation 20: n1, n2",
        "it took out 1 node: n9",
    ]
    rows = [line.split("  ") for line in said.lines]
    cells = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
    assert cells["n1"] == ["changed, behind", "31", "28", "3", "1"]
    assert cells["n2"][0] == "changed" and cells["n3"][0] == "as before"
    assert (cells["n4"][0], cells["n5"][0], cells["n6"][0]) == ("not in it", "object gone", "gone since")
    times = "2026-11-25 22:55:01", "2026-11-25 22:56:01"
    assert cells["web/a"] == ["n1", "permit", times[0], "2", "-", f"Gang, until {times[1]}"]
    assert (cells["web/b"][-1], cells["web/c"][-1]) == ("its binding", "its confirmation")
    assert cells["web/d"] == ["n1", "confirmed", "-", "-", "2026-11-25 22:55:02", "-"]
    assert said.lines[-1] == "4 of 1,203 pods"


def test_few_are_printed_and_the_rest_counted(command: Command) -> None:
    said, asked = show(command, "n", "--limit", "2")
    assert asked == [{"limit": "2", "find": "n"}]
    assert "2 of 6 nodes" in said.lines


def test_cache_of_a_moment_is_asked_for(command: Command) -> None:
    said, asked = show(command, "early", at="10m ago")
    assert asked == [{"limit": "50", "at": "10m ago", "find": "early"}]
    assert said.lines[2] == "what the last snapshot changed is not known until the next cycle"
    said, _ = show(command, "--json", at="10m ago")
    assert said.out.startswith('{"rv": 5')


@pytest.mark.parametrize(
    ("words", "at", "code", "problem"),
    [
        (("none",), None, 1, "a mirror decides nothing"),
        (("a", "b"), None, 2, "cache takes one part of names"),
        (("--csv",), "5.7", 2, "cache is no list: it takes no --csv, --sort and --columns"),
    ],
)
def test_refusals_are_said(command: Command, words: tuple[str, ...], at: str | None, code: int, problem: str) -> None:
    said, _ = show(command, *words, at=at)
    assert (said.code, said.err) == (code, f"ksched: {problem}\n")
