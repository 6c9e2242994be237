"""`./ksched open`: a history from a file is replayed, shown and explained, and no database is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.cluster.models import Cluster, Pod
from kschedweb.ops import opening as open_command
from kschedweb.scheduling.past import files, walking
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.moments import Position
from kschedweb.traces.models import Checkpoint
from tests.web import rest
from tests.web.scheduling.filed import FILED, answered, exported, forged, own, swap
from tests.web.scheduling.lived import cycles, live, replayed
from tools import cli

pytestmark = FILED


Open = Callable[..., tuple[int, str]]


@pytest.fixture
def open_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], django_assert_num_queries: Any) -> Open:
    """Run `./ksched open` on a content; its exit code and what it printed. The database is not asked."""

    def run(content: bytes, *words: str) -> tuple[int, str]:
        capsys.readouterr()  # of what was done before
        path = tmp_path / "some.history"
        path.write_bytes(content)
        options = cli.parser().parse_args(["open", str(path), *words])
        with django_assert_num_queries(0):
            code = open_command.open_file(data_dir=tmp_path, options=options)
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


def test_file_is_replayed_without_a_database(
    cluster: Cluster, open_file: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    lived = live(cluster, rounds=6)
    content = exported(cluster)
    capsys.readouterr()
    assert open_file(content, "replay") == (0, f"identical, {cycles(cluster)} cycles\n")
    checkpoint = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    start = Position(checkpoint.objects_rv, checkpoint.seq)
    part = replayed(cluster, first=start).cycles
    assert open_file(exported(cluster, first=start), "replay", "--json")[1].startswith(
        f'{{"cluster": "lived", "cycles": {part},'
    )
    assert open_file(exported(cluster, first=start), "at", str(start), "nodes")[0] == 0
    assert open_file(content, "replay", "--from", str(start))[1] == f"identical, {part} cycles\n"
    flipped = forged(content, "attempts", swap(files.ATTEMPTS, "node_name", "n079", 5))
    code, said = open_file(flipped, "replay")
    assert code == 1 and "node_name" in said and "recorded: n079" in said

    at = str(lived.places[len(lived.places) // 2][0])
    then = answered(rest.logged_in(), cluster, "objects?kind=Pod&limit=999", at)[1]["objects"]
    shown = json.loads(open_file(content, "at", at, "objects", "Pod", "--json")[1])["objects"]
    assert shown == [each["manifest"] for each in then] and shown


def test_cache_of_a_file_is_that_of_the_service(cluster: Cluster, open_file: Open) -> None:
    lived = live(cluster, rounds=4)
    checkpoint = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    content = exported(cluster, first=Position(checkpoint.objects_rv, checkpoint.seq))
    client = rest.logged_in()
    begins = Position(checkpoint.objects_rv, checkpoint.seq)
    places = [at for at, _ in lived.places if at.rv >= begins.rv and at.seq >= begins.seq]
    assumed = 0
    for at in (places[0], *places[3::7], places[-1]):
        _, then = answered(client, cluster, "cache", str(at))
        told = own(json.loads(open_file(content, "at", str(at), "cache", "--json")[1]))
        if at == places[0]:  # of before the file only what its checkpoint holds is known
            told, then = ({key: each[key] for key in ("assumed", "confirmed", "generation")} for each in (told, then))
        else:
            known = {pod["uid"] for pod in told["pods"] if pod["assumed_at"]}
            for each in (told, then):
                each["pods"] = [pod for pod in each["pods"] if pod["uid"] in known]
            assumed += len(known)
        assert told == then
    assert assumed
    code, said = open_file(content, "at", str(places[-1]), "cache", "p00")
    assert code == 0 and said.startswith(f"at {places[-1]}: ") and "NODE" in said


def not_replayable(*_: Any) -> None:
    raise NotReplayableError("another version")


def test_file_is_shown_and_explained_without_a_database(
    small: Cluster, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = exported(small)
    code, said = open_file(content, "at", "0s ago", "pods")
    assert code == 0 and said.splitlines()[0].startswith("NAMESPACE") and said.count("default") == 3
    assert "n0" in open_file(content, "at", "0s ago", "node", "n0")[1]
    kept = Pod.objects.get(cluster=small, node_name="").name
    code, said = open_file(content, "why", kept)
    assert code == 0 and "unschedulable" in said and "Insufficient cpu" in said
    code, said = open_file(content, "why", f"default/{kept}", "--again", "--node", "n0")
    assert code == 0 and said.startswith("made again: identical to its record\nn0\n")
    for words, told in (
        (("why", "nobody"), "no attempt at the pod default/nobody"),
        (("at", "0s ago", "pod", "nobody"), "there was no pod nobody"),
        (("at", "9.99999", "pods"), "has not come yet"),
        (("at", "0s ago", "pods", "x"), "pods takes no name"),
    ):
        code, said = open_file(content, *words)
        assert code == 2 and told in said
    monkeypatch.setattr(walking, "start_before", not_replayable)
    assert open_file(content, "at", "0s ago", "pods")[0] == 0  # objects need no engine
    code, said = open_file(content[:-3], "replay")
    assert code == 2 and "end: the file ends within it" in said
