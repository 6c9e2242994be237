"""Admission plugins that can be switched: who tolerates memory pressure, and which anti-affinity is refused."""

from __future__ import annotations

from typing import Any

from scheduler_core.admission.optional import DEFAULT_PLUGINS, LIMIT_ANTI_AFFINITY, MEMORY_PRESSURE_TOLERATION
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch
from scheduler_core.apiserver.server import ApiServer
from tests.builders import make_pod
from tests.cases import cases

TOLERATION = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
NOW = 1_893_456_000_000_000


def server(plugins: frozenset[str] = DEFAULT_PLUGINS, *, is_simulated: bool = True) -> ApiServer[MemoryStore]:
    return ApiServer(MemoryStore(), lambda: "0" * 8, is_simulated=is_simulated, plugins=plugins)


def create(manifest: dict[str, Any], plugins: frozenset[str] = DEFAULT_PLUGINS) -> Outcome | Refused:
    (answer,) = server(plugins).carry_out([Create(manifest)], NOW)
    return answer


def tolerations(answer: Outcome | Refused) -> list[Any]:
    assert isinstance(answer, Outcome) and isinstance(answer.answer, dict)
    return list(answer.answer["spec"]["tolerations"])


@cases(
    "pod, plugins, tolerates",
    ("BestEffort", make_pod("p").container(), DEFAULT_PLUGINS, False),
    ("Burstable", make_pod("p").req(cpu="1"), DEFAULT_PLUGINS, True),
    ("Guaranteed", make_pod("p").limit(cpu="1", memory="1Gi"), DEFAULT_PLUGINS, True),
    ("switched off", make_pod("p").req(cpu="1"), frozenset[str](), False),
)
def test_pods_with_requests_tolerate_memory_pressure(pod: Any, plugins: frozenset[str], tolerates: bool) -> None:
    found = tolerations(create(pod.manifest(), plugins))
    assert (TOLERATION in found) == tolerates and len(found) == 2 + tolerates


def test_toleration_is_added_once_and_only_where_nodes_are_simulated() -> None:
    pod = make_pod("p").req(cpu="1").spec(tolerations=[TOLERATION]).manifest()
    assert tolerations(create(pod)).count(TOLERATION) == 1
    real = server(is_simulated=False)
    real.store.commit([], NOW)
    assert MEMORY_PRESSURE_TOLERATION in DEFAULT_PLUGINS
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    other = make_pod("p").container(image="i").req(cpu="1").manifest()
    for answer in real.carry_out([Create(namespace)], NOW):
        assert isinstance(answer, Outcome)
    (answer,) = real.carry_out([Create(other)], NOW)
    assert TOLERATION not in tolerations(answer)


@cases(
    "key, anti, is_on, is_refused",
    ("a zone", "topology.kubernetes.io/zone", True, True, True),
    ("a node", "kubernetes.io/hostname", True, True, False),
    ("affinity", "topology.kubernetes.io/zone", False, True, False),
    ("switched off", "topology.kubernetes.io/zone", True, False, False),
)
def test_anti_affinity_is_limited_to_nodes(key: str, anti: bool, is_on: bool, is_refused: bool) -> None:
    plugins = frozenset({LIMIT_ANTI_AFFINITY}) if is_on else DEFAULT_PLUGINS
    answer = create(make_pod("p").container(image="i").pod_affinity(key, {"a": "b"}, anti=anti).manifest(), plugins)
    assert isinstance(answer, Refused) == is_refused
    if isinstance(answer, Refused):
        assert (answer.status.code, answer.status.reason) == (403, "Forbidden")
        assert answer.status.message == (
            'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey'
            " topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed"
        )


def test_pod_that_was_there_before_can_be_changed_no_more() -> None:
    store = MemoryStore()
    pod = make_pod("p").container(image="i").pod_affinity("zone", {"a": "b"}, anti=True).manifest()
    ApiServer(store, lambda: "u").carry_out([Create(pod)], NOW)
    limiting = ApiServer(store, lambda: "u", plugins=frozenset({LIMIT_ANTI_AFFINITY}))
    key, body = ObjectKey("Pod", "default", "p"), {"metadata": {"labels": {"a": "b"}}}
    (answer,) = limiting.carry_out([Patch(key, body)], NOW)
    assert isinstance(answer, Refused) and answer.status.code == 403
