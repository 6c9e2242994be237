"""What docs/cookbook.md says is so: each command and each call, taken from the page, on the cluster it is about."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from rest_framework.test import APIClient

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.choices import ClockMode
from kschedweb.cluster.models import Cluster
from kschedweb.mirror import services
from kschedweb.mirror.services import Copied
from kschedweb.ops import beside, cli, mirror_starting, up
from kschedweb.ops.client import Refused
from kschedweb.scheduling import leases
from kschedweb.scheduling.past import moments
from kschedweb.scheduling.runner import bindings
from kschedweb.traces.models import Comparison
from tests import cookbook
from tests.cookbook import Call, Recipe, is_text, lacking
from tests.waiting import eventually
from tests.web.ops.conftest import ask_here
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead, settle

SECOND = 1_000_000
BEGINS = int(datetime(2026, 11, 27, 22, tzinfo=UTC).timestamp()) * SECOND
FIVE_MINUTES = 300 * SECOND
KUBECONFIG = """
current-context: prod
contexts: [{name: prod, context: {cluster: prod, user: ann}}]
clusters: [{name: prod, cluster: {server: "https://prod.example:6443"}}]
users: [{name: ann, user: {token: secret}}]
"""
*RECIPES, MIRROR = cookbook.recipes()
Run = Callable[[str], str]


class Rest:
    """Stands in for a client of the service: it asks this process, as `ann`."""

    def __init__(self, asked_by: APIClient) -> None:
        self._by = asked_by

    def asked(self, method: str, path: str, body: bytes | None, content_type: str = "application/json") -> Any:
        answer = self._by.generic(method, path, body or b"", content_type=content_type)
        if answer.status_code >= 400:
            raise Refused(answer.json()["message"], answer.json())
        return answer

    def call(self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json") -> Any:
        answer = self.asked(method, path, body, content_type)
        return answer.status_code, answer.json()

    def post(self, path: str, values: Any) -> Any:
        return self.call("POST", path, json.dumps(values).encode())[1]

    def all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("GET", path)[1]["results"]
        return found

    def text(self, path: str) -> str:
        return str(self.asked("GET", path, None).content.decode())

    def download(self, path: str, file: BinaryIO) -> int:
        return file.write(b"".join(self.asked("GET", path, None).streaming_content))


@pytest.fixture(scope="module")
def rest(committed: None) -> Rest:
    return Rest(logged_in("ann"))


@pytest.fixture(scope="module")
def shop(rest: Rest) -> Iterator[int]:
    """The cluster of the page, on whose clock five minutes lie between what is done there; its id."""
    made = rest.post("/api/clusters", {"name": cookbook.CLUSTER, "seed": 1})["id"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
        host = None
        for number, deed in enumerate(cookbook.STORY):
            set_clock(made, BEGINS + number * FIVE_MINUTES)
            rest.call(deed.method, f"/api/clusters/{made}/{deed.path}", json.dumps(deed.body).encode())
            host = host or lead(Cluster.objects.get(pk=made))
            for seconds in range(4):  # of backoff
                set_clock(made, BEGINS + number * FIVE_MINUTES + seconds * SECOND)
                settle(host)
                while bindings.evictions_run(made):
                    settle(host)
            pending = rest.call("GET", f"/api/clusters/{made}/summary")[1]["pending"]["pods"]
            assert pending == deed.pending, deed
        moments.forget()
        yield made
        moments.forget()


def set_clock(cluster_id: int, at: int) -> None:
    """Let it be that time in the cluster, and no later."""
    mode = ClockMode.FAST
    Cluster.objects.filter(pk=cluster_id).update(clock_mode=mode, clock_at_us=at, clock_wall_us=at)


def beside_here(data_dir: Path, module: str, words: Sequence[str] = (), given: str = "") -> Any:
    return mirror_starting.start(json.loads(given)) if given else ask_here(data_dir, module, words)


@pytest.fixture
def run(shop: int, rest: Rest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    """`run("./ksched why …")`: what it prints, in a folder of its own. Clusters that it makes go with it."""
    monkeypatch.chdir(tmp_path)
    for module in ("explaining", "fitting", "showing", "listing", "caching", "exporting", "mirroring"):
        monkeypatch.setattr(f"kschedweb.ops.{module}.connect", lambda _: rest)
    monkeypatch.setattr(up, "read_status", lambda _: {"url": "https://localhost:8480"})
    monkeypatch.setattr(beside, "ask", beside_here)

    def run(commands: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            for line in commands.splitlines():
                program, *words = shlex.split(line)
                assert program == "./ksched", line
                cli.main(words)
        return out.getvalue()

    yield run
    for made in Cluster.objects.exclude(pk=shop):
        cluster_services.cluster_delete(cluster_id=made.pk)


def asked(rest: Rest, call: Call, cluster_id: int) -> Any:
    """The answer to a call of the page, of a download its headers."""
    body = Path(call.body.removeprefix("< ")).read_bytes() if call.body.startswith("<") else call.body.encode()
    if body and not call.body.startswith("<"):
        body = json.dumps(json.loads(body) | {"cluster_id": cluster_id}).encode()
    form = "application/yaml" if call.body.startswith("<") else "application/json"
    answer = rest.asked(call.method, call.address.replace("/clusters/1/", f"/clusters/{cluster_id}/"), body, form)
    return answer.json() if answer["Content-Type"].startswith("application/json") else dict(answer.items())


def follow(recipe: Recipe, run: Run, rest: Rest, cluster_id: int) -> None:
    """Do what a recipe says, in its order."""
    for name, text in recipe.files.items():
        Path(name).write_text(text)
    for commands, told in recipe.commands:
        said = run(commands)
        assert is_text(told, said), said
    for call in recipe.calls:
        answer = asked(rest, call, cluster_id)
        assert not lacking(call.answer, answer), lacking(call.answer, answer)


def test_page_has_fifteen_questions_with_all_there_is_to_an_answer() -> None:
    assert len(RECIPES) + 1 == 15
    for each in (*RECIPES, MIRROR):
        assert each.commands and each.calls and (each.clicks or "There are no clicks" in cookbook.PAGE)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.question)
def test_answer_is_as_the_page_says(recipe: Recipe, run: Run, rest: Rest, shop: int) -> None:
    follow(recipe, run, rest, shop)


def test_mirror_says_beside_the_other_scheduler_what_it_would_have_done(run: Run, rest: Rest, shop: int) -> None:
    """The other cluster is played: what it has comes as its API server tells it."""
    Path("prod.yaml").write_text(KUBECONFIG)
    first, *others = MIRROR.commands
    follow(replace(MIRROR, commands=(first,), calls=()), run, rest, shop)
    cluster = Cluster.objects.get(name="prod")
    held = next(each for each in services.mirrors_take(holder="test") if each.cluster_id == cluster.pk)
    nodes = [cookbook.node("node-1"), cookbook.node("node-2", "2")]
    pod = cookbook.pod("shop/api-0", "1", "1Gi", schedulerName="default-scheduler")
    host = lead(cluster)
    for manifests in ([*nodes, pod], [{**pod, "spec": {**pod["spec"], "nodeName": "node-2"}}]):
        for each in manifests:
            each["metadata"] |= {"uid": each["metadata"]["name"], "creationTimestamp": "2026-11-27T22:00:00Z"}
        services.batch_store(held=held, copied=[Copied(each) for each in manifests], positions={}, is_synced=True)
        settle(host)
    # What differs is judged a moment later, when the engine's timer is due.
    eventually(lambda: settle(host) and Comparison.objects.filter(cluster=cluster).exists())
    follow(replace(MIRROR, commands=tuple(others)), run, rest, cluster.pk)


def test_what_the_page_tells_is_looked_at() -> None:
    assert is_text("a\n…\nd 1…\n", "a\nb\nc\nd 12\n")
    assert not is_text("a\n…\nd 1\n", "a\nd 12\n")
    assert lacking({"a": [{"b": 1}, "…"]}, {"a": [{"b": 1, "c": 2}, 3]}) == []
    assert lacking({"a": [1]}, {"a": [1, 2]}) and lacking({"a": 1}, {}) and lacking({"a": True}, {"a": 1})
