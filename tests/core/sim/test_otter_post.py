"""Otter Post for two rounds of its script: engine and controllers together, in virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from scheduler_core.apiserver.requests import Create, Evict, ReportStatus
from scheduler_core.sim.otter_post.apps import BUDGETS, SERVICES
from scheduler_core.sim.otter_post.jobs import HAIRBALL, LAUNCH, RIPPLE, TRAWL
from scheduler_core.sim.otter_post.script import MAX_PODS, SCRIPT
from scheduler_core.sim.otter_post.storage import DEN_NODE
from tests.cases import cases
from tests.core.sim.story import (
    SECOND,
    START,
    Manifest,
    Story,
    annotations,
    app_label,
    app_of,
    conditions,
    key,
    node_of,
)

ROUNDS = range(2)
SECONDS = len(ROUNDS) * SCRIPT.round_seconds + 20  # what the last event brings is over by then
LOOK_SECONDS = 5


@dataclass(frozen=True)
class Look:
    """The cluster at one moment, in seconds since the start."""

    second: int
    nodes: dict[str, Manifest]
    pods: dict[str, Manifest]

    def of(self, app: str) -> list[Manifest]:
        return [pod for pod in self.pods.values() if app_label(pod) == app]

    def on(self, node: str) -> list[Manifest]:
        """The pods of the node that are alive and not on their way out."""
        return [pod for pod in self.pods.values() if node_of(pod) == node and is_up(pod)]

    def condition(self, node: str, name: str) -> str:
        return conditions(self.nodes[node]).get(name, "")


@cache
def run() -> tuple[Story, list[Look]]:
    """One run, looked at by many tests."""
    story, looks = Story(), []
    for second in range(LOOK_SECONDS, SECONDS + 1, LOOK_SECONDS):
        story.world.run_until(START + second * SECOND)
        pods = {key(pod): pod for pod in story.pods}
        looks.append(Look(second, {node["metadata"]["name"]: node for node in story.world.store.list("Node")}, pods))
    return story, looks


def story() -> Story:
    return run()[0]


def during(number: int, begin: int, end: int) -> Iterator[Look]:
    """The looks from one second to another into a round."""
    first = number * SCRIPT.round_seconds
    return (look for look in run()[1] if first + begin <= look.second <= first + end)


def is_up(pod: Manifest) -> bool:
    return pod["status"].get("phase") in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Manifest) -> bool:
    return is_up(pod) and conditions(pod).get("Ready") == "True"


def placed(app: str) -> list[Manifest]:
    """The app's pods that have a node and are not on their way out."""
    return [pod for pod in story().alive if app_label(pod) == app and node_of(pod) and is_up(pod)]


def zone_of(pod: Manifest) -> str:
    """Nodes are called by pool, letter of the zone and number."""
    return node_of(pod).split("-")[1][0]


def waiting(app: str) -> list[str]:
    """Messages of the app's pods that have no node."""
    pods = [pod for pod in story().alive if app_label(pod) == app and not node_of(pod)]
    return [story().messages.get(key(pod), "gated") for pod in pods]


@pytest.mark.parametrize("number", ROUNDS)
def test_deployment_gets_a_new_image_pod_by_pod(number: int) -> None:
    service = next(each for each in SERVICES if each.name == SCRIPT.rollouts[number].name)
    image = SCRIPT.rollouts[number].image

    def images(look: Look) -> Counter[str]:
        return Counter(pod["spec"]["containers"][0]["image"] for pod in look.of(service.name) if is_ready(pod))

    begin = SCRIPT.rollout_at
    assert images(next(during(number, begin - 5, begin))) == {f"{image}:1": service.replicas}
    mixed = 0
    for look in during(number, begin, begin + 60):
        # A quarter may be missing; nowhere more than a quarter is there too much.
        assert service.replicas * 3 // 4 <= images(look).total() <= -(-service.replicas * 5 // 4)
        mixed += len(images(look)) == 2
    assert mixed >= 2
    assert images(next(during(number, begin + 60, begin + 65))) == {f"{image}:2": service.replicas}


@pytest.mark.parametrize("number", ROUNDS)
def test_node_is_drained_and_opened_again(number: int) -> None:
    def closed(look: Look) -> list[str]:
        return [name for name, node in look.nodes.items() if node["spec"].get("unschedulable")]

    begin = SCRIPT.drain_at
    assert not any(closed(look) for look in during(number, 0, begin - 1))
    (name,) = {name for look in during(number, begin + 1, begin + SCRIPT.drain_seconds - 1) for name in closed(look)}
    last = next(during(number, begin + SCRIPT.drain_seconds - 5, begin + SCRIPT.drain_seconds - 1))
    assert [app_label(pod) for pod in last.on(name)] == ["river-gauge"]
    assert annotations(last.nodes[name])["kschedweb.io/drain"] == "drained"
    for look in during(number, begin + SCRIPT.drain_seconds + 1, SCRIPT.round_seconds):
        assert not closed(look)
        assert "kschedweb.io/drain" not in annotations(look.nodes[name])


@pytest.mark.parametrize("number", ROUNDS)
def test_kubelet_stands_still_and_comes_back(number: int) -> None:
    begin, end = SCRIPT.stop_at, SCRIPT.stop_at + SCRIPT.stop_seconds
    before = next(during(number, begin - 5, begin))
    (name,) = {
        name for look in during(number, begin, end - 1) for name, node in look.nodes.items()
        if "kschedweb.io/kubelet" in annotations(node)
    }  # fmt: skip
    # Nothing is noticed for fifty seconds.
    assert {look.condition(name, "Ready") for look in during(number, begin, begin + 50)} == {"True"}
    assert {look.condition(name, "Ready") for look in during(number, begin + 60, end - 1)} == {"Unknown"}
    renderers = {key(pod) for pod in before.on(name) if app_label(pod) == "whisker-renderer"}
    others = {key(pod) for pod in before.on(name) if pod["metadata"]["ownerReferences"][0]["kind"] != "Job"} - renderers
    assert renderers and others
    # Those that tolerate it for twenty seconds are to go, but nobody is there to stop them. The others stay.
    late = next(during(number, begin + 85, begin + 90))
    assert all("deletionTimestamp" in late.pods[each]["metadata"] for each in renderers)
    for look in during(number, begin + 90, end - 1):
        assert renderers <= look.pods.keys()
        assert others <= {key(pod) for pod in look.on(name)}
    back = next(during(number, end + 10, end + 15))
    assert back.condition(name, "Ready") == "True"
    assert "taints" not in back.nodes[name]["spec"]
    assert not renderers & back.pods.keys()
    assert others <= {key(pod) for pod in back.on(name)}


@pytest.mark.parametrize("number", ROUNDS)
def test_pod_whose_memory_grows_is_evicted_and_others_stay(number: int) -> None:
    begin = next(at for at, job in SCRIPT.of_round if job is HAIRBALL)
    looks = list(during(number, begin + 5, SCRIPT.round_seconds))
    (name,) = {node_of(pod) for look in looks for pod in look.of(HAIRBALL.name)}
    pressed = [look.second for look in looks if look.condition(name, "MemoryPressure") == "True"]
    assert begin + 30 <= pressed[0] - number * SCRIPT.round_seconds <= begin + 110
    assert 55 <= pressed[-1] - pressed[0] <= 80  # a minute after the last sign of it
    (pod,) = {key(each): each for look in looks for each in look.of(HAIRBALL.name) if not is_up(each)}.values()
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Evicted")
    assert "The node was low on resource: memory" in pod["status"]["message"]
    under = next(look for look in looks if look.second == pressed[1])
    (taint,) = [each for each in under.nodes[name]["spec"]["taints"] if "pressure" in each["key"]]
    assert taint["effect"] == "NoSchedule"
    evicted = [pod for look in looks for pod in look.pods.values() if pod["status"].get("reason") == "Evicted"]
    assert {app_label(each) for each in evicted} == {HAIRBALL.name}


@pytest.mark.parametrize("number", ROUNDS)
def test_pods_get_their_devices_and_one_waits_for_its_turn(number: int) -> None:
    begin = next(at for at, job in SCRIPT.of_round if job is TRAWL)
    first = next(during(number, begin + 10, begin + 15)).of(TRAWL.name)
    nodes = sorted(node_of(pod) for pod in first)
    assert nodes == ["", "gpu-a2", "gpu-b2", "gpu-c2"]  # those with ospreys
    (waits,) = [pod for pod in first if not node_of(pod)]
    late = next(during(number, begin + 80, begin + 85)).pods
    assert node_of(late[key(waits)]) in nodes
    renders = next(during(number, begin + 25, begin + 30)).of(RIPPLE.name)
    assert len(renders) == RIPPLE.pods
    assert {node_of(pod)[:3] + node_of(pod)[-1] for pod in renders} == {"gpu1"}
    # Claims go with their pods' end.
    assert not story().of_kind("ResourceClaim")


def test_burst_takes_the_places_of_renderers() -> None:
    at = next(at for at, job in SCRIPT.of_round if job is LAUNCH)
    for number in ROUNDS:
        begin = START + (number * SCRIPT.round_seconds + at) * SECOND
        launched = [now for now, each in story().log if app_of(each) == LAUNCH.name and begin <= now < begin + SECOND]
        assert len(launched) == LAUNCH.pods
        evicted = [each for each, now in story().evicted.items() if begin <= now < begin + 30 * SECOND]
        assert 5 <= len(evicted) <= 40
        assert {each.split("/")[0] for each in evicted} == {"studio"}
        # All of them found their place, and the renderers came back.
        soon = next(during(number, at + 30, at + 35))
        assert all(map(node_of, soon.of(LAUNCH.name)))
        back = next(during(number, SCRIPT.round_seconds - 5, SCRIPT.round_seconds))
        assert len([pod for pod in back.of("whisker-renderer") if is_ready(pod)]) >= 40
    for attempt in story().preemptions:
        assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
        assert attempt.post_filter.preemption.victims


@cases(
    "app, reasons",
    ("too large", "legacy-monolith", ["Insufficient cpu", "Insufficient memory"]),
    ("label nobody has", "quantum-index", ["didn't match Pod's node affinity/selector"]),
    ("taint", "vault-reader", ["untolerated taint {otterpost.example/vault: locked}"]),
    ("host port", "lamp-lighter", ["didn't have free ports"]),
    ("more GPUs than a node has", "fish-tycoon", ["Insufficient nvidia.com/gpu"]),
    ("nobody beside it", "lonely-heron", ["didn't match pod anti-affinity rules"]),
    ("uneven", "even-keel", ["didn't match pod topology spread constraints"]),
    ("gated", "friday-deploy", ["gated"]),
    ("gated by budget", "bigger-model", ["gated"]),
)
def test_some_pods_of_the_sample_wait_each_for_its_own_reason(app: str, reasons: list[str]) -> None:
    messages = waiting(app)
    assert messages
    for message in messages:
        for reason in reasons:
            assert reason in message


def test_everything_else_of_the_sample_finds_a_node() -> None:
    left = {"legacy-monolith", "quantum-index", "vault-reader", "lamp-lighter", "fish-tycoon", "even-keel"}
    for service in SERVICES:
        if service.name not in left and "schedulingGates" not in service.spec:
            assert len(placed(service.name)) >= service.replicas - 1, service.name


def test_pods_of_the_sample_arrive_and_complete_at_about_one_a_second() -> None:
    log = [(now, request) for now, request in story().log if now > START + 120 * SECOND]
    seconds = SECONDS - 120
    jobs = {job.name for job in SCRIPT.jobs}
    arrived = [each for _, each in log if app_of(each) in jobs]
    completed = [each for _, each in log if isinstance(each, ReportStatus) and each.status.get("phase") == "Succeeded"]
    assert 0.85 < len(arrived) / seconds < 1.2
    assert 0.85 < len(completed) / seconds < 1.3


def test_sample_stays_bounded() -> None:
    for look in run()[1]:
        alive = [pod for pod in look.pods.values() if pod["status"].get("phase") in ("Pending", "Running")]
        assert 200 < len(alive) < MAX_PODS or look.second <= 10
        assert len(look.pods) < MAX_PODS + 250
    unfinished = [job for job in story().of_kind("Job").values() if "Complete" not in conditions(job)]
    assert len(unfinished) < 60


def test_nothing_is_written_in_vain() -> None:
    """So that watching the sample costs little: about twenty writes a second."""
    assert story().world.store.rv / SECONDS < 25
    deployments = Counter(app_of(each) for _, each in story().log if isinstance(each, Create))
    assert deployments["teapot"] <= 6  # three, and those of drained nodes
    evictions = [each for _, each in story().log if isinstance(each, Evict) and each.asks_budgets]
    assert len(evictions) < 60


def test_general_nodes_of_the_sample_are_busy() -> None:
    general = [pod for pod in story().alive if node_of(pod).startswith("general-")]
    assert "whisker-renderer" in map(app_label, general)
    assert 0.75 < sum(map(cpu_milli, general)) / (24 * 8000) < 0.97


def cpu_milli(pod: Manifest) -> int:
    text = str(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
    return int(text.removesuffix("m")) if text.endswith("m") else int(text) * 1000


def test_storefronts_of_the_sample_are_spread_over_the_zones() -> None:
    zones = Counter(zone_of(pod) for pod in placed("storefront"))
    assert len(zones) == 3
    assert max(zones.values()) - min(zones.values()) <= 1
    assert max(Counter(map(node_of, placed("storefront"))).values()) <= 3


def test_caches_of_the_sample_are_placed_beside_a_storefront_each_on_its_own_node() -> None:
    """Storefronts may have moved away since: what was there when the cache came counts."""
    caches = [node_of(pod) for pod in placed("warm-fish-cache")]
    assert len(caches) == len(set(caches)) == 4
    assert set(caches) & set(map(node_of, placed("storefront")))


def test_gauges_of_the_sample_are_on_every_node_that_lets_them() -> None:
    gauges = [node_of(pod) for pod in placed("river-gauge")]
    assert len(gauges) == len(set(gauges)) == 51
    assert not [name for name in gauges if name.startswith(("gpu-", "vault-"))]


def test_disks_of_the_sample_are_bound_where_their_pods_are() -> None:
    claims, volumes = story().of_kind("PersistentVolumeClaim"), story().of_kind("PersistentVolume")
    (vault,) = placed("shell-vault")
    assert node_of(vault) == DEN_NODE
    indexes = placed("parcel-index")
    assert len(indexes) == len(set(map(node_of, indexes))) == 6  # one disk a node
    wanted = {f"tracking/{pod['metadata']['name']}-data": zone_of(pod) for pod in indexes}
    for app in ("pebble-ledger", "tide-book"):
        wanted |= {f"payments/data-{pod['metadata']['name']}": zone_of(pod) for pod in placed(app)}
    for name, zone in wanted.items():
        assert claims[name]["status"]["phase"] == "Bound"
        volume = volumes[claims[name]["spec"]["volumeName"]]
        (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == [f"river-{zone}"]
    # Nothing is left of disks whose pods have gone.
    assert claims.keys() == wanted.keys() | {"payments/data-shell-vault-0"}


def test_budgets_of_the_sample_know_their_pods() -> None:
    for namespace, app, least in BUDGETS:
        status = story().of_kind("PodDisruptionBudget")[f"{namespace}/{app}"]["status"]
        assert status["desiredHealthy"] == least
        assert 0 < status["disruptionsAllowed"] == status["currentHealthy"] - least
