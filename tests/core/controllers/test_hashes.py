"""Hashes of templates are those that the real controller gave: recorded from a Deployment of each, with 0 replicas."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from scheduler_core.api.go_values import map_json
from scheduler_core.api.workload import RawTemplate
from scheduler_core.controllers.workloads.hashes import POD_TEMPLATE_HASH, fnv1, fnv1a, safe_text, template_hash
from tests.core.controllers.simulation import Simulation, workload
from tests.recordings.record import FOLDER

LINES = (
    gzip.decompress((FOLDER / "template_hashes.jsonl.gz").read_bytes()).decode().split("\n")[:-1]
)  # U+2028 is in some
RECORDED: list[dict[str, Any]] = [json.loads(line) for line in LINES]
CASES = [pytest.param(number, each, id=each["hash"]) for number, each in enumerate(RECORDED)]


@pytest.fixture(scope="module")
def made() -> tuple[Simulation, list[str]]:
    """A cluster with a Deployment of each template, and their names."""
    cluster = Simulation(nodes=0)
    names = [f"d{number}" for number in range(len(RECORDED))]
    for name, each in zip(names, RECORDED, strict=True):
        manifest = workload("Deployment", name, replicas=0, selector={"matchLabels": {"app": "x"}})
        manifest["spec"]["template"] = each["template"]
        cluster.create(manifest)
    cluster.run(5)
    return cluster, names


@pytest.mark.parametrize(("number", "each"), CASES)
def test_hash_is_the_real_controllers(made: tuple[Simulation, list[str]], number: int, each: dict[str, Any]) -> None:
    cluster, names = made
    stored = RawTemplate(cluster.get("Deployment", names[number])["spec"]["template"])
    assert template_hash(stored, each.get("collisions")) == each["hash"]


def test_sets_have_the_hash_as_name_and_label(made: tuple[Simulation, list[str]]) -> None:
    cluster, names = made
    sets = [one["metadata"] for one in cluster.all("ReplicaSet")]
    labels = {metadata["name"]: metadata["labels"][POD_TEMPLATE_HASH] for metadata in sets}
    pairs = zip(names, RECORDED, strict=True)
    plain = {f"{name}-{each['hash']}": each["hash"] for name, each in pairs if "collisions" not in each}
    assert len(plain) > 100
    assert plain.items() <= labels.items()


def test_name_that_is_taken_is_avoided_with_the_real_controllers_next_hash() -> None:
    each = next(each for each in RECORDED if each.get("collisions") == 1)
    cluster = Simulation(nodes=0)
    other = workload("ReplicaSet", "other", replicas=0)
    manifest = workload("Deployment", "web", replicas=0, selector={"matchLabels": {"app": "x"}})
    manifest["spec"]["template"] = each["template"]
    stored = cluster.create({**manifest, "metadata": {"name": "first", "namespace": "default"}})
    other["metadata"]["name"] = f"web-{template_hash(RawTemplate(stored['spec']['template']))}"
    cluster.create(other)
    cluster.begin(manifest, 5)
    assert cluster.get("Deployment", "web")["status"]["collisionCount"] == 1
    assert cluster.get("ReplicaSet", f"web-{each['hash']}")["metadata"]["labels"][POD_TEMPLATE_HASH] == each["hash"]


@pytest.mark.parametrize(
    ("kind", "label", "more", "want"),
    [
        ("DaemonSet", "controller-revision-hash", {}, "84b9cb9776"),
        ("StatefulSet", "controller.kubernetes.io/hash", {"serviceName": "s"}, "6799c85894"),
    ],
)
def test_revisions_have_the_real_controllers_hash(kind: str, label: str, more: dict[str, Any], want: str) -> None:
    cluster = Simulation(nodes=0)
    manifest = workload(kind, "web", replicas=None if kind == "DaemonSet" else 0, **more)
    manifest["metadata"]["annotations"] = {"a.example/b": "<c>"}
    manifest["spec"]["template"]["metadata"]["annotations"] = {"x": "<&>\u2028"}
    cluster.begin(manifest, 5)
    (metadata,) = (one["metadata"] for one in cluster.all("ControllerRevision"))
    assert (metadata["name"], metadata["labels"]) == (f"web-{want}", {"app": "web", label: want})
    assert metadata["annotations"]["a.example/b"] == "<c>"


@pytest.mark.parametrize(
    ("kind", "more"), [("DaemonSet", {"replicas": None}), ("StatefulSet", {"serviceName": "s", "replicas": 0})]
)
def test_data_of_a_revision_is_the_patch_that_replaces_the_template(kind: str, more: dict[str, Any]) -> None:
    cluster = Simulation(nodes=0)
    cluster.begin(workload(kind, "web", **more), 5)
    (revision,) = cluster.all("ControllerRevision")
    container = (
        '{"image":"i:1","imagePullPolicy":"IfNotPresent","name":"c","resources":{},'
        '"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}'
    )
    spec = (
        f'{{"containers":[{container}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always",'
        '"schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}'
    )
    template = f'{{"$patch":"replace","metadata":{{"labels":{{"app":"web"}}}},"spec":{spec}}}'
    assert map_json(revision["data"]) == f'{{"spec":{{"template":{template}}}}}'


@pytest.mark.parametrize(
    ("data", "first", "second"),
    [(b"", 0x811C9DC5, 0x811C9DC5), (b"a", 0xE40C292C, 0x050C5D7E), (b"foobar", 0xBF9CF968, 0x31F0B262)],
)
def test_fnv_has_the_published_values(data: bytes, first: int, second: int) -> None:
    assert (fnv1a(data), fnv1(data)) == (first, second)


def test_digits_become_letters_that_make_no_words() -> None:
    assert safe_text(1234567890) == "56789bcdf4"
