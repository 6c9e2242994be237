"""`./ksched replay`: what it prints and how it ends, on a cluster that was really scheduled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.ops import beside, replaying, up
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod
from tests.web import tcp
from tests.web.ops.conftest import ask_here
from tests.web.scheduling.conftest import put, scheduled
from tools import cli

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence")]

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command; it makes the steps again in a process of its own, on the database of the tests."""
    monkeypatch.setenv("DATABASE_URL", tcp.database_url())
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(up, "read_status", lambda _: None)

    def command(*words: str) -> int:
        return replaying.replay(data_dir=tmp_path, options=cli.parser().parse_args(["replay", *words]))

    return command


def test_replay_says_identical_or_what_differs(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster.objects.create(name="again", seed=1)
    put(cluster, make_node("n0").capacity(cpu="4"))
    scheduled(cluster, *(make_pod(f"p{number}").req(cpu="1") for number in range(5)))
    assert run("again") == 0
    assert capsys.readouterr().out == "identical, 5 cycles\n"
    monkeypatch.setattr(beside, "ask", ask_here)  # one process has shown that there is one
    assert run("again", "--json", "--to", "0.0") == 0
    assert json.loads(capsys.readouterr().out)["cycles"] == 0

    row = Attempt.objects.filter(cluster=cluster).earliest("seq")
    Attempt.objects.filter(pk=row.pk).update(node_name="n7")
    assert run("again") == 1
    said = capsys.readouterr().out
    assert said.splitlines()[1:] == [
        f"step {row.run}.{row.step}, entry {row.seq} pod default/p0: node_name",
        "  recorded: n7",
        "  replayed: n0",
    ]


def test_what_cannot_be_replayed_says_why(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(beside, "ask", ask_here)
    cluster = Cluster.objects.create(name="mirrored", seed=1, is_mirror=True)
    for words, reason in (
        (["nowhere"], "there is no cluster named nowhere"),
        (["mirrored"], "a mirror decides nothing"),
        (["mirrored", "--from", "12"], "--from: '12' is no position of both logs"),
    ):
        assert run(*words) == 2
        assert reason in capsys.readouterr().err
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=False)
    assert run("mirrored", "--to", "9.9") == 2
    assert "9.9 has not come yet: the logs end at 0.0" in capsys.readouterr().err


def test_unproven_cycles_are_told_beside_those_that_are() -> None:
    found = {"unproven_cycles": 1200, "reason": "older", "difference": None, "cycles": 3400}
    assert replaying.told(found) == "1,200 cycles cannot be made again: older\nidentical, 3,400 cycles"
