"""The official Python client against the service: list and watch as an informer does, and refusals it has to handle."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from kschedweb.cluster.models import Change
from tests.waiting import HANG_SECONDS, eventually, joined
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.test_watch import commit

pytestmark = pytest.mark.django_db

NAMESPACE = "default"
WRITERS = 3
CONTAINER = {"name": "c", "image": "i:1"}
Key = tuple[str, str]  # type of the event, name


@pytest.fixture
def core(served: Served) -> Iterator[client.CoreV1Api]:
    configuration = client.Configuration(host=served.url)
    configuration.ssl_ca_cert = str(served.web.certificate)
    configuration.api_key = {"authorization": f"Bearer {served.admin}"}
    with client.ApiClient(configuration) as api:
        yield client.CoreV1Api(api)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"of": "informer"}}, "data": data}


class Informer:
    """A list, then watches from where it or the last watch ended; what was told, and the objects as they follow."""

    def __init__(
        self, list_objects: Callable[..., Any], *, watch_seconds: int, label_selector: str = "of=informer"
    ) -> None:
        self._list_objects = list_objects
        self._watch_seconds = watch_seconds
        self._selector = label_selector
        self.objects: dict[str, str] = {}
        self.versions: list[int] = []
        self.lists = self.watches = self.cuts = 0
        self.listed, self.ended = threading.Event(), threading.Event()

    def run(self) -> None:
        position = ""
        while not self.ended.is_set():
            position = position or self._list()
            stream = watch.Watch()
            self.watches += 1
            try:
                for event in stream.stream(
                    self._list_objects, NAMESPACE, label_selector=self._selector,
                    resource_version=position, timeout_seconds=self._watch_seconds,
                ):  # fmt: skip
                    self._take(event["type"], event["object"])
                    position = event["object"].metadata.resource_version
            except ApiException as gone:
                assert gone.status == 410
                position = ""
            except HTTPError:  # the service is away
                self.cuts += 1
                time.sleep(0.1)

    def _list(self) -> str:
        self.lists += 1
        found = self._list_objects(NAMESPACE, label_selector=self._selector)
        self.objects = {item.metadata.name: item.metadata.resource_version for item in found.items}
        self.listed.set()
        return str(found.metadata.resource_version)

    def _take(self, kind: str, found: Any) -> None:
        name, version = found.metadata.name, found.metadata.resource_version
        assert (kind == "ADDED") == (name not in self.objects), f"{kind} {name}: a gap or a repeat"
        self.versions.append(int(version))
        if kind == "DELETED":
            del self.objects[name]
        else:
            self.objects[name] = version


def write(core: client.CoreV1Api, writer: int, objects: int) -> int:
    """Make, change and take away objects; how many changes that were."""
    for number in range(objects):
        name = f"w{writer}-{number}"
        core.create_namespaced_config_map(NAMESPACE, config_map(name, n="0"))
        core.patch_namespaced_config_map(name, NAMESPACE, {"data": {"n": "1"}})
        if number % 2:
            core.delete_namespaced_config_map(name, NAMESPACE)
    return objects * 2 + objects // 2


@pytest.mark.parametrize("changes", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_informer_sees_every_change_once(core: client.CoreV1Api, changes: int) -> None:
    """Its watches end every second and begin again where they were."""
    informer = Informer(core.list_namespaced_config_map, watch_seconds=1)
    reader = threading.Thread(target=informer.run)
    reader.start()
    try:
        assert informer.listed.wait(HANG_SECONDS)  # what is there by then is listed, not told
        objects = changes * 2 // 5 // WRITERS
        with ThreadPoolExecutor(WRITERS) as threads:
            made = sum(threads.map(write, itertools.repeat(core), range(WRITERS), itertools.repeat(objects)))
        eventually(lambda: len(informer.versions) >= made or not reader.is_alive())
        eventually(lambda: informer.watches > 1)
    finally:
        informer.ended.set()
        joined(reader)
    try:
        assert informer.versions == sorted(set(informer.versions))
        assert len(informer.versions) == made and informer.lists == 1 and informer.watches > 1
        found = core.list_namespaced_config_map(NAMESPACE, label_selector="of=informer").items
        assert informer.objects == {item.metadata.name: item.metadata.resource_version for item in found}
    finally:
        core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="of=informer")


def test_watch_from_a_position_that_is_gone_lists_again(served: Served, core: client.CoreV1Api) -> None:
    old = core.create_namespaced_config_map(NAMESPACE, config_map("old")).metadata.resource_version
    new = core.create_namespaced_config_map(NAMESPACE, config_map("new")).metadata.resource_version
    Change.objects.filter(cluster_id=served.cluster_id, rv__lte=int(new)).delete()
    commit()
    with pytest.raises(ApiException) as gone:
        list(
            watch.Watch().stream(
                core.list_namespaced_config_map, NAMESPACE, resource_version=str(int(old) - 1), timeout_seconds=5
            )
        )
    assert gone.value.status == 410
    informer = Informer(core.list_namespaced_config_map, watch_seconds=1)
    reader = threading.Thread(target=informer.run)
    reader.start()
    eventually(lambda: informer.watches > 1)
    informer.ended.set()
    joined(reader)
    assert informer.objects.keys() == {"old", "new"} and informer.lists == 1
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="of=informer")


def test_conflicts_are_409_and_the_second_try_succeeds(core: client.CoreV1Api) -> None:
    made = core.create_namespaced_config_map(NAMESPACE, config_map("c", n="0"))
    with pytest.raises(ApiException) as exists:
        core.create_namespaced_config_map(NAMESPACE, config_map("c"))
    assert (exists.value.status, exists.value.reason) == (409, "Conflict")
    core.patch_namespaced_config_map("c", NAMESPACE, {"data": {"n": "1"}})
    made.data = {"n": "2"}
    with pytest.raises(ApiException) as modified:
        core.replace_namespaced_config_map("c", NAMESPACE, made)
    assert modified.value.status == 409
    fresh = core.read_namespaced_config_map("c", NAMESPACE)
    fresh.data = {"n": "2"}
    assert core.replace_namespaced_config_map("c", NAMESPACE, fresh).data == {"n": "2"}
    core.delete_namespaced_config_map("c", NAMESPACE)


def test_eviction_that_a_budget_refuses_is_429_until_the_budget_goes(core: client.CoreV1Api) -> None:
    policy = client.PolicyV1Api(core.api_client)
    spec = {"schedulerName": "x", "nodeName": "n9", "containers": [CONTAINER]}
    core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "e", "labels": {"evict": "me"}}, "spec": spec})
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    core.patch_namespaced_pod_status("e", NAMESPACE, running)
    selector = {"matchLabels": {"evict": "me"}}
    budget = {"metadata": {"name": "e"}, "spec": {"minAvailable": 1, "selector": selector}}
    policy.create_namespaced_pod_disruption_budget(NAMESPACE, budget)
    counted = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}
    policy.patch_namespaced_pod_disruption_budget_status("e", NAMESPACE, {"status": {**counted, "expectedPods": 1}})
    eviction = {"metadata": {"name": "e"}}
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_pod_eviction("e", NAMESPACE, eviction)
    assert (refused.value.status, refused.value.reason) == (429, "Too Many Requests")
    policy.delete_namespaced_pod_disruption_budget("e", NAMESPACE)
    core.create_namespaced_pod_eviction("e", NAMESPACE, eviction)
    core.delete_namespaced_pod("e", NAMESPACE, grace_period_seconds=0)
