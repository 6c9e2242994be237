"""What was asked and what there was: stored with attempts, told by REST, and made only of what is stored."""

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod
from tests.web.rest import get
from tests.web.scheduling.conftest import put, scheduled, settle

pytestmark = pytest.mark.django_db(transaction=True)

LACKS_CPU = {
    "kind": "resource", "subject": "cpu", "nodes": 1, "asked": 31_000, "there": 15_850, "node": "n1",
    "capacity": 16_000, "only": 1, "nearest": 15_850, "nearest_node": "n1", "values": [], "others": 0, "pod": "",
    "without": 0,
}  # fmt: skip


@pytest.fixture
def host(cluster: Cluster) -> EngineHost:
    """A pod that asks more than the one node has left was tried."""
    node = make_node("n1").capacity(cpu="16", memory="8Gi", pods="10")
    held = make_pod("held").req(cpu="150m").on("n1")
    return scheduled(cluster, node, held, make_pod("big").req(cpu="31"))


def test_attempt_tells_what_was_asked_and_what_there_was(cluster: Cluster, host: EngineHost) -> None:
    (attempt,) = get(cluster, "pods/default/big/attempts")["results"]
    (rejection,) = attempt["rejections"]
    assert rejection["amounts"] == [LACKS_CPU]
    assert get(cluster, f"attempts/{attempt['seq']}")["rejections"] == [rejection]


def test_pending_reasons_tell_the_amounts_of_the_pod_that_lacks_least(cluster: Cluster, host: EngineHost) -> None:
    taint = "gpu=a100:NoSchedule"
    put(
        cluster,
        make_node("n2").capacity(cpu="2", memory="8Gi", pods="10").taint("gpu", "a100", "NoSchedule"),
        *(make_pod(name).req(cpu=cpu) for name, cpu in (("first", "20"), ("last", "16"), ("most", "64"))),
    )
    settle(host)
    cpu, tainted = get(cluster, "pending")["reasons"]
    assert (cpu["reason"], cpu["pods"]) == ("Insufficient cpu", 4)
    assert cpu["amounts"] == [
        {
            "pods": 4, "asked_least": 16_000, "asked_most": 64_000, "pod": "default/last",
            "amounts": LACKS_CPU | {"asked": 16_000},
        }
    ]  # fmt: skip
    (about,) = tainted["amounts"]
    assert (about["pods"], about["asked_least"], about["amounts"]["subject"]) == (3, None, taint)
    assert about["pod"] == "default/first"  # of those that came together


def test_attempts_stored_before_there_were_amounts_are_read(cluster: Cluster, host: EngineHost) -> None:
    Attempt.objects.filter(cluster=cluster).update(amounts=None)
    (attempt,) = get(cluster, "pods/default/big/attempts")["results"]
    assert [each["amounts"] for each in attempt["rejections"]] == [[]]
    assert [each["amounts"] for each in get(cluster, "pending")["reasons"]] == [[]]


def test_matrix_and_refusals_tell_how_it_is_now(cluster: Cluster, host: EngineHost) -> None:
    (attempt,) = get(cluster, "pods/default/big/attempts")["results"]
    put(cluster, make_pod("more").req(cpu="5").on("n1"))
    now = LACKS_CPU | {"there": 10_850, "nearest": 10_850}
    assert [row["now"] for row in get(cluster, f"attempts/{attempt['seq']}?now=true")["matrix"]["nodes"]] == [[now]]
    assert [row["now"] for row in get(cluster, f"attempts/{attempt['seq']}")["matrix"]["nodes"]] == [None]
    assert [each["now"] for each in get(cluster, "refusals?node=n1")["refusals"]] == [[now]]


def test_how_it_is_now_is_not_told_of_pods_that_have_a_node(cluster: Cluster, host: EngineHost) -> None:
    put(cluster, make_node("n2").capacity(cpu="64", memory="8Gi", pods="10"))
    settle(host)
    assert [each["now"] for each in get(cluster, "refusals?node=n1")["refusals"]] == [None]


def test_reason_that_does_not_hold_any_more_has_no_amounts(cluster: Cluster, host: EngineHost) -> None:
    put(cluster, make_node("n1").capacity(cpu="64", memory="8Gi", pods="10"))
    assert [each["now"] for each in get(cluster, "refusals?node=n1")["refusals"]] == [[]]


def test_node_that_is_cordoned_no_more_has_no_amounts(cluster: Cluster) -> None:
    node = make_node("n1").capacity(cpu="16", memory="8Gi", pods="10")
    scheduled(cluster, node.unschedulable(), make_pod("p").req(cpu="1"))
    (told,) = [each["now"] for each in get(cluster, "refusals?node=n1")["refusals"]]
    assert [each["kind"] for each in told] == ["cordon"]
    put(cluster, make_node("n1").capacity(cpu="16", memory="8Gi", pods="10"))
    assert [each["now"] for each in get(cluster, "refusals?node=n1")["refusals"]] == [[]]


def test_repeated_attempts_cost_no_amounts(cluster: Cluster, host: EngineHost, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr("scheduler_core.scheduler.schedule_one.amounts_of", lambda cycle: made.append(cycle) or {})
    assert host._engine is not None
    host._engine.engine.activate(["default/big"])
    settle(host)
    stored = Attempt.objects.get(cluster=cluster, name="big")
    assert (stored.repeat_count, made) == (1, [])
