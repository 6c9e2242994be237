"""The engine decides the worked examples of the Kubernetes documentation as the pages say."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml

from scheduler_core import config
from scheduler_core.admission import AdmissionContext, admit_create
from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from tests.golden.docs_cases import CASES, FOUR_NODES, DocsCase

NOW = 1_900_000_000 * 1_000_000
SECOND = 1_000_000
ROOMY = {"capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"}}
UIDS = itertools.count(1)
PAUSE = [{"name": "pause", "image": "registry.k8s.io/pause:3.8"}]


def read(text: str, runtime_classes: str = "") -> list[KubeObject]:
    """The objects of a document, created in this order."""
    classes = [manifests.decode(_complete(each)) for each in yaml.safe_load_all(runtime_classes) if each]
    context = AdmissionContext(
        new_uid=lambda: f"uid-{next(UIDS)}",
        runtime_classes={each.name: each for each in classes},  # type: ignore[misc]
    )
    objects = []
    for manifest in yaml.safe_load_all(text):
        if manifest["kind"] == "Node":
            manifest.setdefault("status", ROOMY)
        elif manifest["kind"] == "Pod":
            manifest.setdefault("spec", {}).setdefault("containers", PAUSE)
        objects.append(manifests.decode(admit_create(_complete(manifest), manifest["kind"], context, now=NOW)))
    return objects


def _complete(manifest: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": manifests.KINDS[manifest["kind"]].api_version, **_texts(manifest)}


def _texts(value: Any) -> Any:
    """YAML reads `cpu: 8` as a number; quantities are texts."""
    if isinstance(value, dict):
        quantities = ("capacity", "limits", "podFixed")
        return {
            key: {name: str(amount) for name, amount in item.items()} if key in quantities else _texts(item)
            for key, item in value.items()
        }
    return [_texts(item) for item in value] if isinstance(value, list) else value


def scheduler(configuration: str = "", **options: Any) -> Scheduler:
    return build(config.load(configuration or None), draws=FirstDraws(), **options)


def step(made: Scheduler, *objects: KubeObject, now: int = NOW, cycles: int = 100) -> Effects:
    changes: list[Change] = [ObjectPut(obj) for obj in objects]
    return made.step(now, changes, Budget(cycles))


def only(effects: Effects) -> Attempt:
    (attempt,) = effects.attempts
    return attempt


def names(attempt: Attempt) -> tuple[str, ...]:
    assert attempt.node_order is not None
    return attempt.node_order.names


def refusals(attempt: Attempt) -> dict[str, str]:
    """Reason by node, of the nodes refused."""
    rows = attempt.filter_rows
    assert rows is not None
    found = zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True)
    return {names(attempt)[node]: rows.statuses[code - 1].message for node, code in found if code}


def scores(attempt: Attempt, plugin: str) -> dict[str, int]:
    """What the plugin gave each feasible node, normalised, before its weight."""
    rows = attempt.score_rows
    assert rows is not None and attempt.feasible is not None
    column = [name for name, _ in rows.plugins].index(plugin)
    feasible = [names(attempt)[node] for node in attempt.feasible.tolist()]
    return dict(zip(feasible, rows.normalized[column].tolist(), strict=True))


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "row"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_of_the_documentation(case: DocsCase, use_table: bool) -> None:
    made = scheduler(case.configuration, use_table=use_table)
    step(made, *read(case.cluster), cycles=0)
    attempt = only(step(made, *read(case.pod, case.runtime_classes)))
    if case.goes_to:
        assert (attempt.result, attempt.node_name in case.goes_to) == ("scheduled", True)
    else:
        assert (attempt.result, attempt.node_name) == ("unschedulable", "")
    assert refusals(attempt) == case.refused
    assert attempt.message.startswith(case.message)
    for plugin, wanted in case.scores.items():
        assert scores(attempt, plugin) == wanted


def test_zones_take_turns_when_nodes_are_looked_at() -> None:
    """Zone 1 has nodes 1 to 4, zone 2 nodes 5 and 6: they are looked at as 1 5 2 6 3 4."""
    made = scheduler()
    for number, zone in ((1, "1"), (2, "1"), (3, "1"), (4, "1"), (5, "2"), (6, "2")):
        labels = f"{{topology.kubernetes.io/zone: zone-{zone}}}"
        step(made, *read(f"{{kind: Node, metadata: {{name: '{number}', labels: {labels}}}}}"))
    attempt = only(step(made, *read("{kind: Pod, metadata: {name: mypod}}")))
    assert " ".join(names(attempt)) == "1 5 2 6 3 4"


def test_percentage_of_nodes_to_score_falls_with_the_size_of_the_cluster() -> None:
    """50 % of 100 nodes, 10 % of 5000, never less than 5 % nor less than 100 nodes."""
    made, nodes = scheduler(), 0
    (one,) = read("{kind: Node, metadata: {name: n}}")
    manifest = manifests.encode(one)
    for count, enough in ((99, 99), (100, 100), (250, 120), (1000, 420), (5000, 500), (6000, 300)):
        many = []
        for number in range(nodes, count):
            manifest["metadata"] = {"name": f"n{number}", "uid": str(number)}
            many.append(manifests.decode(manifest))
        nodes = count
        attempt = only(step(made, *many, *read(f"{{kind: Pod, metadata: {{name: pod-{count}}}}}")))
        assert attempt.feasible is not None
        assert len(attempt.feasible) == enough


def test_redis_and_web_servers_share_nodes_one_of_each() -> None:
    """Three caches that keep apart, then three web servers that keep apart and want a cache near."""
    apart = "requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: %s}]"
    cache, web = "{matchLabels: {app: store}}", "{matchLabels: {app: web-store}}"
    made = scheduler()
    for name in ("node-1", "node-2", "node-3"):
        step(made, *read(f"{{kind: Node, metadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}}}}}}}"))
    placed: dict[str, list[str]] = {"redis-cache": [], "web-server": []}
    for kind, number in itertools.product(placed, range(3)):
        near = f"podAffinity: {{{apart % cache}}}, " if kind == "web-server" else ""
        own = web if kind == "web-server" else cache
        labels = own.removeprefix("{matchLabels: ").removesuffix("}")
        affinity = f"{{{near}podAntiAffinity: {{{apart % own}}}}}"
        pod = f"{{kind: Pod, metadata: {{name: {kind}-{number}, labels: {labels}}}, spec: {{affinity: {affinity}}}}}"
        placed[kind].append(only(step(made, *read(pod))).node_name)
    assert {kind: sorted(nodes) for kind, nodes in placed.items()} == dict.fromkeys(
        placed, ["node-1", "node-2", "node-3"]
    )


def test_overhead_is_part_of_what_a_pod_requests() -> None:
    """Containers of 2000m and 200Mi, an overhead of 250m and 120Mi: 2250m and 320Mi, which is 335544320 bytes."""
    (case,) = (case for case in CASES if case.runtime_classes)
    (pod,) = read(case.pod, case.runtime_classes)
    assert isinstance(pod, Pod) and pod.spec.overhead is not None
    assert {name: str(amount) for name, amount in pod.spec.overhead.items()} == {"cpu": "250m", "memory": "120Mi"}
    made = scheduler()
    step(made, *read(case.cluster), cycles=0)
    step(made, pod)
    requested = made.engine.cache.items["enough"].info.requested
    assert (requested.milli_cpu, requested.memory) == (2250, 335_544_320)


def test_backoff_is_one_second_then_two_then_four() -> None:
    """A pod that keeps failing waits 1, 2, 4 … seconds, 10 at most."""
    made = scheduler()
    step(made, *read("{kind: Node, metadata: {name: small}, status: {capacity: {cpu: 1, memory: 1Gi, pods: 9}}}"))
    pod = "{kind: Pod, metadata: {name: big}, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 2}}}]}}"
    step(made, *read(pod))
    waits = []
    for _ in range(6):
        info = made.engine.queue.get("default/big")
        assert info is not None
        waits.append(((made.engine.queue.backoff.backoff_time(info) or 0) - NOW) // SECOND)
        made.schedule_pod_now("default/big", NOW)
    assert waits == [1, 2, 4, 8, 10, 10]


class BlinkingLight:
    """The plugin of the page: a node is as good as the number of its blinking lights, scaled to the most."""

    name = "BlinkingLight"
    lights = {"node1": 1, "node2": 4, "node3": 3, "node4": 0}

    def score(self, state: Any, pod: Any, node_info: Any) -> tuple[int, Status]:
        return self.lights[node_info.name], SUCCESS

    def normalize_scores(self, state: Any, pod: Any, scores: Any) -> Status:
        highest = scores.max()
        scores *= 100
        scores //= highest
        return SUCCESS


def test_blinking_lights_are_scaled_to_a_hundred() -> None:
    configuration = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: BlinkingLight}]
"""
    made = scheduler(configuration, registry={"BlinkingLight": lambda args, handle: BlinkingLight()})
    attempt = only(step(made, *read(FOUR_NODES), *read("{kind: Pod, metadata: {name: mypod}}")))
    assert scores(attempt, "BlinkingLight") == {"node1": 25, "node2": 100, "node3": 75, "node4": 0}
    assert attempt.node_name == "node2"
