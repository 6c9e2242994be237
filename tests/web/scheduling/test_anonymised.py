"""A history without names: it replays, says nothing of the original's, and each name has one replacement."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import orjson
import pytest
import zstandard

from kschedweb.cluster import extender_http
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Cluster
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.ops import sample
from kschedweb.scheduling.past import anonymising, asking, files, moments, stores
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.held import Held
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.names import Names
from kschedweb.scheduling.past.replaying import replay_of
from kschedweb.traces.models import Attempt, Checkpoint
from scheduler_core.sim.otter_post.apps import SERVICES
from tests.builders import make_manifest, make_node, make_pod, scheduler_config
from tests.cases import cases
from tests.web import rest
from tests.web.scheduling.conftest import lead, put, scheduled, settle
from tests.web.scheduling.filed import FILED, exported, opened, outcome
from tests.web.scheduling.lived import cycles, live, replayed
from tests.web.scheduling.test_replaying import EXTENDER, Moody

pytestmark = FILED


def anonymised(content: bytes) -> bytes:
    return b"".join(anonymising.anonymised(content))


def replayed_file(content: bytes) -> tuple[Any, int, int]:
    with stores.opened(lambda number: Held(number, io.BytesIO(content))) as number:
        replay = replay_of(number)
        replay.go()
        return outcome(replay)


def plain(content: bytes) -> dict[str, Any]:
    """All that a file says, unpacked to the last."""
    return {name: _plain(rows) for name, rows in sections(content)}


def sections(content: bytes) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for name, rows in files.read(io.BytesIO(content)):
        found[name] = [*found.get(name, []), *rows] if name != files.HEAD else msgspec.to_builtins(rows)
    return list(found.items())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes) and value[1:].startswith(zstandard.FRAME_HEADER):
        value = value[1:]  # a matrix, behind the number of its layout
    if isinstance(value, bytes) and value.startswith(zstandard.FRAME_HEADER):
        unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(value)
        try:
            return _plain(msgspec.msgpack.decode(unpacked))
        except (msgspec.DecodeError, ValueError):
            return unpacked.decode(errors="replace")
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def said(value: Any) -> str:
    """Every text in it, keys too, on a line each."""
    return "\n".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)


WORD = re.compile(r"[A-Za-z0-9_.-]+")


def left(content: bytes, names: Iterable[str]) -> set[str]:
    """Which of these names a file still says."""
    return set(WORD.findall(said(plain(content)))) & set(names)


def pairs(content: bytes, made: bytes) -> Iterator[tuple[str, str]]:
    """Each text of what the steps were given, with what stands in its place."""
    old, new = (dict(sections(each))["changes"] for each in (content, made))
    place, operation = files.CHANGES.place("object"), files.CHANGES.place("operation")
    for before, after in zip(old, new, strict=True):
        if before[operation] != Operation.SETTING:
            yield from _pairs(orjson.loads(before[place]), orjson.loads(after[place]))


def _pairs(one: Any, other: Any) -> Iterator[tuple[str, str]]:
    if isinstance(one, dict):
        assert len(one) == len(other)
        for (key, each), (new, found) in zip(one.items(), other.items(), strict=True):
            yield key, new
            yield from _pairs(each, found)
    elif isinstance(one, list):
        for each, found in zip(one, other, strict=True):
            yield from _pairs(each, found)
    elif isinstance(one, str):
        yield one, other
    else:
        assert one == other


def consistent(content: bytes, made: bytes) -> dict[str, set[str]]:
    """What stands for each text: one of its own, or itself where it is a field of manifests."""
    found: dict[str, set[str]] = {}
    back: dict[str, set[str]] = {}
    for one, other in pairs(content, made):
        if one != other:
            found.setdefault(one, set()).add(other)
            back.setdefault(other, set()).add(one)
        elif "kubernetes.io/" in one:
            found.setdefault(one, set()).add(one)
    assert all(len(each) == 1 for each in (*found.values(), *back.values()))
    return found


def checked(cluster: Cluster, names: Iterable[str], **span: Any) -> bytes:
    """The cluster's file without names, which replays and says none of these."""
    content = exported(cluster, **span)
    made = anonymised(content)
    expected = replayed_file(content)
    assert expected[0] is None and expected[1] > 0
    assert replayed_file(made) == expected
    assert left(content, names) == set(names), "the original has them"
    assert not left(made, [*names, cluster.name])
    replaced = consistent(content, made)
    assert any("kubernetes.io/" in name for name in replaced)
    return made


LIVED = {
    *(f"n{number:03}" for number in range(80)),
    *(f"p{number:04}" for number in range(60)),
    *("disk", "ssd", "hdd", "east", "west", "north", "app", "web", "db", "dedicated", "gpu", "slow", "high", "default"),
}


def test_lived_history_replays_without_its_names(cluster: Cluster) -> None:
    live(cluster, rounds=5)
    made = checked(cluster, LIVED)
    assert cycles(cluster) > 50
    copy = opened(made)
    assert copy.seed == 0
    assert outcome(replayed(copy)) == outcome(replayed(cluster))
    again = exported(copy)
    assert replayed_file(again) == replayed_file(made)
    assert replayed_file(anonymised(again)) == replayed_file(made)


def test_span_from_a_checkpoint_replays_without_its_names(cluster: Cluster) -> None:
    lived = live(cluster, rounds=4)
    row = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    last, _ = lived.places[-3]
    made = checked(cluster, LIVED, first=Position(row.objects_rv, row.seq), last=last)
    moment = anonymised(exported(cluster, first=last, last=last))
    assert not left(moment, LIVED)
    with stores.opened(lambda number: Held(number, io.BytesIO(moment))) as number:
        at = Position(stores.of(number).cluster().rv, stores.of(number).cluster().seq)
        with moments.moment(cluster_id=number, position=at) as found:
            assert found.scheduler is not None
            pods = len(found.scheduler.engine.cache.pod_states)
    with moments.moment(cluster_id=cluster.pk, position=last) as found:
        assert found.scheduler is not None and len(found.scheduler.engine.cache.pod_states) == pods > 0
    assert len(made) < 2 * len(exported(cluster))


def test_order_of_keys_stays_where_one_namespace_begins_as_another(cluster: Cluster) -> None:
    """`team-a/x` comes before `team/x`, and `team` before `team-a`."""
    namespaces = ("zoo", "team", "team-a")
    put(cluster, *(make_manifest("Namespace", name) for name in namespaces), make_node("small").capacity(cpu="1"))
    host = lead(cluster)
    for round_ in range(3):
        wanted = [(of, f"{name}-{round_}") for of in namespaces for name in "ba"]
        put(cluster, *(make_pod(name, namespace=of).req(cpu="2") for of, name in wanted))
        settle(host)
        put(cluster, make_node(f"more-{round_}").capacity(cpu="2", pods="3"))
        settle(host)
    checked(cluster, {"team", "team-a", "zoo", "small", "a-1", "b-1", "more-2"})


def test_answers_of_extenders_have_other_names(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    moody = Named()
    monkeypatch.setattr(extender_http, "connect", lambda *_: moody)
    judge = {"urlPrefix": "http://judge.acme.example/really", "filterVerb": "filter"}
    content = scheduler_config(extenders=[EXTENDER, judge]).encode()
    cluster_services.scheduler_config_set(cluster_id=cluster.pk, content=content, actor="ulrike")
    put(cluster, *(make_node(f"oven{i}").capacity(cpu="8", pods="20") for i in range(6)))
    scheduled(cluster, *(make_pod(f"loaf{i}").req(cpu="1") for i in range(30)))
    monkeypatch.setattr(extender_http, "connect", None)
    names = {
        "ulrike",
        "judge.acme.example",
        "really",
        "crust",
        *(f"oven{i}" for i in range(6)),
        *(f"loaf{i}" for i in range(30)),
    }
    made = checked(cluster, names)
    assert "refused" not in said(plain(made)) and cycles(cluster) > 20


class Named(Moody):
    """It says names in its reasons, too."""

    def call(self, verb: str, payload: bytes) -> bytes:
        question = orjson.loads(payload)
        if verb != "filter" or not question["Nodes"]:
            return super().call(verb, payload) if verb != "prioritize" or question["NodeNames"] else b"[]"
        items = [node for node in question["Nodes"]["items"] if self.draws.random() < 0.7]
        gone = {
            node["metadata"]["name"]: "refused by crust" for node in question["Nodes"]["items"] if node not in items
        }
        return orjson.dumps({"Nodes": {"items": items}, "FailedNodes": gone})


def with_devices(cluster: Cluster, selector: str) -> None:
    """Cards of two flavours on a node, and a pod for each of them."""
    flavours = ("mint", "plum")
    devices = [
        {"name": f"card-{place}", "attributes": {"flavour": {"string": flavours[place % 2]}}} for place in range(4)
    ]
    pool = {"name": "racks", "generation": 1, "resourceSliceCount": 1}
    slices = {"driver": "gpu.acme.example", "nodeName": "oven", "pool": pool, "devices": devices}
    put(
        cluster,
        make_node("oven").capacity(cpu="8", pods="20"),
        make_manifest("DeviceClass", "cards", spec={"selectors": [{"cel": {"expression": selector}}]}),
        make_manifest("ResourceSlice", "s", spec=slices),
    )
    for name, flavour in (("gets", "plum"), ("too", "plum"), ("wants", "plum"), ("other", "mint")):
        wanted = f'device.attributes["gpu.acme.example"].flavour == "{flavour}" // {flavour} of ulrike'
        exactly = {"deviceClassName": "cards", "count": 1, "selectors": [{"cel": {"expression": wanted}}]}
        request = {"name": "r", "exactly": {"allocationMode": "ExactCount", **exactly}}
        pod = make_pod(name).req(cpu="1").manifest()
        pod["spec"]["resourceClaims"] = [{"name": "one", "resourceClaimName": name}]
        put(cluster, make_manifest("ResourceClaim", name, spec={"devices": {"requests": [request]}}), pod)
    settle(lead(cluster))


def test_devices_and_their_selectors_have_other_names(cluster: Cluster) -> None:
    with_devices(cluster, "device.driver == 'gpu.acme.example'")
    rows = Attempt.objects.filter(cluster=cluster, result="scheduled")
    assert set(rows.values_list("name", flat=True)) > {"other"}
    checked(cluster, {"gpu.acme.example", "flavour", "plum", "mint", "racks", "oven", "cards", "gets", "ulrike"})


def test_route_gives_the_file_without_names(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cluster, make_node("oven").capacity(cpu="2"))
    pods = [make_pod(f"loaf{number}").req(cpu="1").manifest() for number in range(3)]
    pods[0]["spec"]["containers"][0]["env"] = [{"name": "PIN", "value": "48392017"}]
    scheduled(cluster, *pods)
    client, url = rest.logged_in(), f"/api/clusters/{cluster.pk}/history/export?anonymise=true"
    answer = client.get(url)
    assert answer.status_code == 200 and "lived" not in answer.headers["Content-Disposition"]
    content = b"".join(answer.streaming_content)
    assert replayed_file(content) == (None, cycles(cluster), 0) and not left(
        content, {"oven", "loaf0", "lived", "PIN", "48392017"}
    )
    monkeypatch.setattr(asking, "MOST_ANONYMISED", 2)
    refused = client.get(url)
    assert refused.status_code == 422 and "choose a shorter span" in refused.json()["message"]


def test_history_that_goes_by_the_letters_of_a_name_is_refused(cluster: Cluster) -> None:
    with_devices(cluster, 'device.driver.startsWith("gpu")')
    with pytest.raises(NotReplayableError, match=r"names cannot be replaced: step .* another way"):
        anonymised(exported(cluster))
    answer = rest.logged_in().get(f"/api/clusters/{cluster.pk}/history/export?anonymise=true")
    assert answer.status_code == 409 and "names cannot be replaced" in answer.json()["message"]


@cases(
    "text, stays",
    ("a number", "12", True),
    ("a quantity", "1.5Gi", True),
    ("a share", "50%", True),
    ("a duration", "1m30s", True),
    ("a version", "v1.34.1", True),
    ("a time", "2026-11-25T22:55:00.123456Z", True),
    ("a well-known key", "topology.kubernetes.io/zone", True),
    ("a well-known resource", "cpu", True),
    ("a word of the API", "NoSchedule", True),
    ("a kind that is only kept", "NetworkPolicy", True),
    ("its version", "autoscaling/v2", True),
    ("a value of one of its enums", "digital signature", True),
    ("an address that means all", "0.0.0.0", True),
    ("an address", "10.1.2.3", False),
    ("a name", "web", False),
    ("a key of a domain of somebody's", "acme.example/team", False),
    ("a key that only looks well-known", "kubernetes.io.acme.example/team", False),
    ("a word of ours", "pods and more", False),
    ("an image", "registry.acme.example/team/web:1.2", False),
)
def test_what_is_no_name_stays(text: str, stays: bool) -> None:
    names = Names()
    names.text(text)
    names.settle()
    made = names.text(text)
    assert (made == text) is stays
    assert names.back(made) == text and names.text(text) == made
    assert not {"acme", "web", "team"} & set(re.findall(r"[a-z]+", made))


def test_names_keep_their_order_and_say_what_they_are_of() -> None:
    names, given = Names(), ["b", "a-1", "a", "10", "zone b", "a.x"]
    for name in given:
        names.object("Node", "", name)
        names.text(name)
    names.text("f0000000-0000-4000-8000-00000000000f")
    names.settle()
    nodes = sorted(name for name in given if name != "10" and " " not in name)
    assert [names.text(name) for name in nodes] == ["node0001", "node0002", "node0003", "node0004"]
    assert (names.text("10"), names.text("zone b")) == ("10", "text0001")
    assert names.text("f0000000-0000-4000-8000-00000000000f") == "00000001-0000-4000-8000-000000000000"


def test_sample_replays_without_its_names() -> None:
    cluster = sample.load()
    scheduler, controllers = lead(cluster), ControllerHost.build(cluster.pk)
    started = int(cluster.created_at.timestamp()) * 1_000_000
    for turn in range(1, 5):
        controllers.step(started + turn * 20_000_000)
        settle(scheduler)
    made = checked(cluster, {"river-a", "river-b", "otter-post", *(each.name for each in SERVICES)})
    assert cycles(cluster) > 50 and made
