"""Storms of those who may upload: texts without bound, packed and nested ones, configurations, and sheer size."""

import gzip
import json
import os
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.attack.conftest import Cast, Storming
from tests.attack.people import Person
from tests.attack.storm import Attacked, Storm, told_as_json
from tests.waiting import HANG_SECONDS
from tests.web import tcp
from tests.web.rest import items, node, pod

MIB = 1 << 20
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def clusters(attacked: Attacked, cast: Cast) -> Iterator[list[int]]:
    """Ten clusters of a stormer's that nobody schedules; deleted afterwards."""
    service = attacked.service
    made = [service.cluster_create(f"big-{number}") for number in range(10)]
    for cluster_id in made:
        service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "pause"})
        _role(attacked, cluster_id, cast.stormers[0])
    yield made
    for cluster_id in made:
        service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def upload(storm: Storm, who: Person, cluster_id: int, body: bytes, query: str = "") -> tcp.Answer:
    path = f"/api/clusters/{cluster_id}/import?partial=false{query}"
    return storm.ask(who, "POST", path, body, Content_Type="application/octet-stream")


def ended(who: Person, answer: tcp.Answer) -> dict[str, Any]:
    """The import of a 202, once it is over; asked slowly, as whoever waits does."""
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline:
        found: dict[str, Any] = json.loads(who.web.get(answer.headers["location"], **who.bearer).body)
        if found["status"] not in ("queued", "running"):
            return found
        time.sleep(0.5)
    raise AssertionError(f"the import is not over: {found}")


def test_quantities_without_bound(storming: Storming, cast: Cast) -> None:
    """Long ones, which a careless pattern takes the square of their length for, and ever new ones."""
    eve = cast.stormers[0]
    with storming() as storm:
        for cpu in ("1" * 32_000 + "x", "1" * 32_000, "1" * 16_000 + "." + "1" * 16_000 + "y", "1." + "0" * 32_000):
            answer = upload(storm, eve, cast.stormed, orjson.dumps(items(node(), pod(cpu=cpu))))
            assert answer.status == 422 and len(answer.body) < 100_000, answer.body[:300]
        for number in range(10):
            many = [pod(f"q{number}-{each}", cpu=f"0.{number}{each:05}1x") for each in range(500)]
            told_as_json(upload(storm, eve, cast.stormed, orjson.dumps(items(*many))), 422)


def test_packed_and_nested(storming: Storming, cast: Cast) -> None:
    eve = cast.stormers[0]
    bodies = {
        "empty members": gzip.compress(b"", mtime=0) * (2 * MIB // 20),
        "a bomb": gzip.compress(bytes(300 * MIB), 1),
        "lists": b"[" * (4 * MIB),
        "aliases": b"a: &a [x, x]\n" + b"b: [" + b"*a, " * 20_000 + b"]\n",
    }
    with storming() as storm:
        bombs = storm.at_once(10, lambda _: upload(storm, eve, cast.stormed, bodies["a bomb"]), threads=10)
        assert {answer.status for answer in bombs} == {413}
        for name, body in bodies.items():
            answer = upload(storm, eve, cast.stormed, body)
            if answer.status == 202:
                assert ended(eve, answer)["error"]["code"].startswith("upload_"), name
            else:
                told_as_json(answer, 413)


def test_scalars_that_only_look_like_something(storming: Storming, cast: Cast) -> None:
    """They are text, or a number that is refused; never a failure."""
    eve = cast.stormers[1]
    with storming() as storm:
        for scalar in ("2024-13-45", "0x_", "0b_", "1" * 5_000, "1e999", ".inf", "!!int x", "!!timestamp x", "0o9"):
            for text in (
                f"kind: {scalar}\n",
                f"{scalar}: 1\n",
                f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {scalar}}}",
            ):
                told_as_json(upload(storm, eve, cast.stormed, text.encode(), "&filename=a.yaml"), 400, 422)


def test_configurations(storming: Storming, cast: Cast, tmp_path: Path) -> None:
    """10,000 profiles, files that never end or are never written, deep and long ones."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    extender = "extenders:\n- urlPrefix: https://127.0.0.1:1\n  tlsConfig:\n    caFile: {}\n"
    texts = [
        CONFIG + "profiles:\n" + "".join(f"- schedulerName: a{number}\n" for number in range(10_000)),
        *(CONFIG + extender.format(path) for path in ("/dev/zero", fifo, "/proc/self/mem", "/dev/tty", "/")),
        CONFIG + "profiles: " + "[" * 100_000,
        CONFIG + "x" * (1 * MIB),
        CONFIG + "leaderElection:\n  leaseDuration: " + "1h" * 100_000,
        CONFIG + "extenders:\n" + "".join(f"- urlPrefix: http://127.0.0.1:{number}\n" for number in range(1, 2_000)),
    ]
    mallory = cast.stormers[1]
    with storming() as storm:
        for text in texts:
            path = f"/api/clusters/{cast.stormed}/scheduler-config"
            answer = storm.ask(mallory, "PUT", path, text.encode(), Content_Type="application/yaml")
            told_as_json(answer, 413, 422)


def test_many_put_objects_and_configurations_at_once(
    storming: Storming, clusters: list[int], cast: Cast, request: pytest.FixtureRequest
) -> None:
    """Each holds a connection, in the long form for about a second: as many wait as there are connections, and more."""
    eve = cast.stormers[0]
    count, of_profiles = (600, 100) if request.config.getoption("--long") else (50, 20)
    many = [pod(f"p{number}", annotations={"pad": "x" * 1_500}) for number in range(count)]
    profiles = "".join(f"- schedulerName: a{number}\n" for number in range(of_profiles))

    with storming() as storm:

        def put(number: int) -> int:
            path = f"/api/clusters/{clusters[number // 2]}"
            if number % 2:
                return storm.ask(eve, "POST", f"{path}/objects", orjson.dumps(items(*many))).status
            text = CONFIG + f"podMaxBackoffSeconds: {number + 100}\nprofiles:\n" + profiles
            return storm.ask(eve, "PUT", f"{path}/scheduler-config", text.encode()).status

        def put_in_the_end(number: int) -> int:
            # Whose turn has not come in half a minute is told to ask again.
            ends_at = time.monotonic() + HANG_SECONDS
            while (status := put(number)) == HTTPStatus.TOO_MANY_REQUESTS and time.monotonic() < ends_at:
                pass
            return status

        assert set(storm.at_once(20, put_in_the_end, threads=20)) == {200, 201}


def test_uploads_of_20_mb_at_once(
    storming: Storming, clusters: list[int], cast: Cast, request: pytest.FixtureRequest
) -> None:
    """Three of few large objects, or in the long form ten of as many as so many bytes hold."""
    is_long = request.config.getoption("--long")
    at_once, number, bytes_of_each = (10, 4_700, 4_000) if is_long else (3, 50, 100_000)
    many = [pod(f"p{each}", annotations={"pad": "x" * bytes_of_each}) for each in range(number)]
    body = orjson.dumps(items(node(), *many))
    body += b" " * (20_000_000 - len(body))
    eve = cast.stormers[0]
    with storming() as storm:
        answers = storm.at_once(at_once, lambda each: upload(storm, eve, clusters[each], body), threads=at_once)
        assert {answer.status for answer in answers} == {202}
        assert {ended(eve, answer)["status"] for answer in answers} == {"done"}


def _role(attacked: Attacked, cluster_id: int, person: Person) -> None:
    path = f"/api/clusters/{cluster_id}/roles/{person.name}"
    attacked.service.client.call("PUT", path, b'{"role": "admin"}')
