"""/metrics and its siblings: every metric with its labels and buckets, fed by what happened; who may read them."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from kschedweb.cluster.models import Cluster
from kschedweb.common.metrics import RECORDER
from kschedweb.common.metrics.catalog import CATALOG, exponential
from kschedweb.environment import ROOT
from kschedweb.scheduling.models import Lease
from kschedweb.scheduling.runner import bindings
from tests.builders import make_manifest, make_node, make_pod
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import configure, lead, put, scheduled, settle

pytestmark = pytest.mark.django_db(transaction=True)

SPEC = ROOT.parent / "shared" / "spec" / "observability.md"
NOT_HERE = ("process_start_time_seconds", "kube_pod_", "kubernetes_health", "leader_election")  # of §1.2
PROFILE = "default-scheduler"

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(path: str = "/metrics", client: Client | None = None, **headers: str) -> Samples:
    answer = (client or Client()).get(path, **headers)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.content
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def read(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


@pytest.fixture
def busy_cluster(valkey_client: object) -> Cluster:
    """A cluster in which pods were bound, one preempted another, one fits nowhere and one is gated."""
    cluster = Cluster.objects.create(name="busy", seed=3)
    nodes = [make_node(f"n{i}").capacity(cpu="4", memory="8Gi", pods="20").manifest() for i in range(3)]
    pods = [make_pod(f"p{i}").req(cpu="2", memory="1Gi").manifest() for i in range(6)]
    host = lead(cluster)
    host.step()
    put(cluster, *nodes, *pods)
    settle(host)
    high = make_manifest("PriorityClass", "high", value=100)
    urgent = make_pod("urgent").req(cpu="3").spec(priorityClassName="high").manifest()
    gated = make_pod("gated").req(cpu="1").gate("wait").manifest()
    put(cluster, high, urgent, make_pod("big").req(cpu="99"), gated)
    settle(host)
    while bindings.evictions_run(cluster.pk):
        settle(host)
    put(cluster, make_node("small").capacity(cpu="1", memory="8Gi", pods="20"))
    settle(host)
    assert RECORDER.push()
    return cluster


def test_every_metric_of_the_catalog_is_exposed_with_its_type(busy_cluster: Cluster) -> None:
    text = Client().get("/metrics").content.decode()
    types = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    assert {name: metric.kind for name, metric in CATALOG.items()}.items() <= types.items()
    assert "process_start_time_seconds" in types
    assert "never attempted" in text  # of gated pods, in the help of pending_pods


def test_catalog_has_every_metric_of_the_specification_with_labels_and_buckets() -> None:
    if not SPEC.exists():
        pytest.skip(f"the specification is not at hand: {SPEC.name} is missing beside the project")
    wanted = specified(SPEC)
    assert len(wanted) == 26
    for name, (kind, labels, buckets) in wanted.items():
        metric = CATALOG[f"scheduler_{name}"]
        assert (metric.kind, set(metric.labels), metric.buckets) == (kind, labels, buckets), name
    seed = re.findall(r"^\| (scheduler_\w+(?:, scheduler_\w+)*) ", SPEC.read_text(), re.MULTILINE)
    assert {each for line in seed for each in line.split(", ")} | {"scheduler_scheduling_duration_seconds"} <= set(
        CATALOG
    )


def specified(path: Path) -> Mapping[str, tuple[str, set[str], tuple[float, ...]]]:
    """The table of the specification: name → type, labels, buckets."""
    found = {}
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 5 and cells[1] in ("counter", "gauge", "histogram"):
            bounds = re.match(r"exp\(([\d.]+), ([\d.]+), (\d+)\)", cells[3])
            buckets = exponential(float(bounds[1]), float(bounds[2]), int(bounds[3])) if bounds else ()
            labels = {word.strip() for word in cells[2].split(",")} - {"—"}
            found[cells[0]] = (cells[1], labels, buckets)
    return found


def test_numbers_are_those_of_what_happened(busy_cluster: Cluster) -> None:
    found = scrape()
    assert read(found, "scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 6
    assert read(found, "scheduler_schedule_attempts_total", result="unschedulable", profile=PROFILE) >= 2
    bound = read(found, "scheduler_scheduling_attempt_duration_seconds_count", result="scheduled", profile=PROFILE)
    assert bound == read(found, "scheduler_scheduling_duration_seconds_count")
    assert bound == read(found, "scheduler_pod_scheduling_attempts_count")
    first = read(found, "scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1")
    assert 6 <= first <= bound
    assert read(found, "scheduler_scheduling_algorithm_duration_seconds_count") >= 8
    assert read(found, "scheduler_pending_pods", queue="gated") == 1
    assert read(found, "scheduler_pending_pods", queue="unschedulable") >= 1
    assert read(found, "scheduler_cache_size", type="nodes") == 4
    assert read(found, "scheduler_unschedulable_pods", plugin="SchedulingGates", profile=PROFILE) == 1
    assert read(found, "scheduler_preemption_attempts_total") >= 2
    assert read(found, "scheduler_preemption_victims_count") == 1
    assert read(found, "scheduler_preemption_victims_sum") == 2
    assert read(found, "scheduler_preemption_goroutines_execution_total", result="success") == 1
    assert read(found, "scheduler_queue_incoming_pods_total", queue="active", event="UnschedulablePodAdd") == 8
    assert read(found, "scheduler_event_handling_duration_seconds_count", event="NodeAdd") == 4
    assert read(found, "scheduler_async_api_call_execution_total", call_type="pod_binding", result="success") == bound
    binding = {"call_type": "pod_binding", "result": "success"}
    assert read(found, "scheduler_async_api_call_execution_duration_seconds_count", **binding) == bound
    named = {"plugin": "NodeName", "extension_point": "Filter", "profile": PROFILE}
    assert read(found, "scheduler_plugin_evaluation_total", **named) > 9
    for point in [
        "PreEnqueue",
        "PreFilter",
        "Filter",
        "PreScore",
        "Score",
        "Reserve",
        "Permit",
        "PreBind",
        "Bind",
        "PostBind",
    ]:
        labels = {"extension_point": point, "status": "Success", "profile": PROFILE}
        assert read(found, "scheduler_framework_extension_point_duration_seconds_count", **labels) > 0, point
    hints = {"plugin": "NodeResourcesFit", "event": "NodeAdd", "hint": "QueueSkip"}
    assert read(found, "scheduler_queueing_hint_execution_duration_seconds_count", **hints) >= 1


def test_sums_over_clusters_and_single_ones_agree(busy_cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other", seed=3)
    scheduled(other, make_node("n").capacity(cpu="4", memory="8Gi", pods="9"), make_pod("p").req(cpu="1"))
    assert RECORDER.push()
    together, single = scrape(), scrape("/metrics?by=cluster")
    for name, labels in (
        ("scheduler_schedule_attempts_total", {"result": "scheduled", "profile": PROFILE}),
        ("scheduler_cache_size", {"type": "nodes"}),
    ):
        assert read(together, name, **labels) == sum(read(single, name, cluster=c, **labels) for c in ("busy", "other"))


def test_counters_do_not_fall_when_a_cluster_goes(busy_cluster: Cluster) -> None:
    labels = {"result": "scheduled", "profile": PROFILE}
    before = read(scrape(), "scheduler_schedule_attempts_total", **labels)
    busy_cluster.delete()
    assert read(scrape(), "scheduler_schedule_attempts_total", **labels) == before
    assert read(scrape(), "scheduler_schedule_attempts_total", **labels) == before


def test_batch_is_counted_once_when_it_is_sent_twice(valkey_client: object) -> None:
    RECORDER.push()
    before = scrape().get(("ksched_steps_total", (("kind", "test"),)), 0)
    RECORDER.count("ksched_steps_total", ("test",))
    batch = None
    with RECORDER._lock:
        RECORDER._batch = batch = ("again", RECORDER._deltas)
        RECORDER._deltas = {}
    assert RECORDER.push()
    RECORDER._batch = batch  # as if the answer had been lost
    assert RECORDER.push()
    assert read(scrape(), "ksched_steps_total", kind="test") == before + 1


def test_measurements_are_kept_while_valkey_is_away(valkey_client: object, settings: object) -> None:
    RECORDER.push()
    before = scrape().get(("ksched_steps_total", (("kind", "kept"),)), 0)
    there, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere/valkey.sock"  # type: ignore[attr-defined]
    RECORDER.count("ksched_steps_total", ("kept",), 2)
    assert not RECORDER.push()
    assert Client().get("/metrics").status_code == 200
    RECORDER.count("ksched_steps_total", ("kept",))
    settings.REDIS_URL = there  # type: ignore[attr-defined]
    assert RECORDER.push() and RECORDER.push()
    assert read(scrape(), "ksched_steps_total", kind="kept") == before + 3


def test_resources_of_pods_are_exposed_while_the_cluster_is_led(busy_cluster: Cluster) -> None:
    path = "/metrics/resources"
    assert not [key for key in scrape(path) if dict(key[1]).get("pod") == "big"]  # an epoch, but no lease

    Lease.objects.update_or_create(cluster=busy_cluster, defaults={"holder": "w/1", "renewed_at": timezone.now()})
    labels = {"namespace": "default", "node": "", "scheduler": PROFILE, "priority": "0"}
    found = scrape(path)
    assert read(found, "kube_pod_resource_request", pod="big", resource="cpu", unit="cores", **labels) == 99


@pytest.mark.parametrize("path", ["/metrics", "/metrics/resources", "/metrics/slis", "/configz"])
def test_others_are_refused_unless_they_are_known(path: str, valkey_client: object) -> None:
    assert Client().get(path).status_code == 200
    assert Client().get(path, REMOTE_ADDR="10.1.1.1").status_code == 401
    assert Client().get(path, HTTP_X_FORWARDED_FOR="10.1.1.1").status_code == 401
    assert logged_in().get(path, REMOTE_ADDR="10.1.1.1").status_code == 200


def test_single_clusters_are_shown_to_those_they_exist_for(busy_cluster: Cluster) -> None:
    client = Client()
    client.force_login(User.objects.create_user("eve"))
    found = scrape("/metrics?by=cluster", client)
    assert not [key for key in found if ("cluster", "busy") in key[1]]
    assert client.get("/configz?cluster=busy").status_code == 404
    assert [key for key in scrape("/metrics?by=cluster") if ("cluster", "busy") in key[1]]


def test_looking_at_the_health_leaves_the_numbers_of_clusters_alone(busy_cluster: Cluster) -> None:
    of_cluster = [key for key in scrape("/metrics?by=cluster") if ("cluster", "busy") in key[1]]
    scrape("/metrics/slis")
    assert [key for key in scrape("/metrics?by=cluster") if ("cluster", "busy") in key[1]] == of_cluster != []


def test_configz_is_the_configuration_in_force(busy_cluster: Cluster) -> None:
    config = Client().get("/configz").json()["kubescheduler.config.k8s.io"]
    assert config["profiles"][0]["schedulerName"] == PROFILE
    configure(busy_cluster, podMaxBackoffSeconds=77)
    found = Client().get("/configz?cluster=busy").json()["kubescheduler.config.k8s.io"]
    assert (found["podMaxBackoffSeconds"], found["podInitialBackoffSeconds"]) == (77, 1)


def test_leadership_says_who_schedules_the_cluster(busy_cluster: Cluster) -> None:
    path = f"/api/clusters/{busy_cluster.pk}/leadership"
    assert logged_in().get(path).json()["is_led"] is False
    Lease.objects.update_or_create(
        cluster=busy_cluster, defaults={"holder": "worker-7/ab12", "renewed_at": timezone.now(), "transitions": 3}
    )
    found = logged_in().get(path).json()
    assert found["renewed_seconds_ago"] < 15
    del found["renewed_seconds_ago"]
    assert found == {
        "worker": "worker-7", "is_led": True, "lease_duration_seconds": 15.0, "transitions": 3, "epoch": 1,
        "is_synced": True, "lag": 0,
    }  # fmt: skip
    Lease.objects.update(renewed_at="2020-01-01T00:00:00Z")
    assert logged_in().get(path).json()["is_led"] is False
