"""A cluster that was made of a file answers as the one it came from would: of any moment, and of the end."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlencode

import msgspec
import pytest

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.kubeapi import access
from kschedweb.kubeapi.exchange import RefusedError, Request
from kschedweb.query import LISTS
from kschedweb.scheduling.models import Binding
from kschedweb.traces.models import Attempt
from scheduler_core.api.times import moment_of
from tests.web import rest
from tests.web.kubeapi import test_past_answers as api
from tests.web.scheduling import lived as living
from tests.web.scheduling.filed import FILED, PATHS, answered, exported, opened
from tests.web.scheduling.lived import cycles, live

pytestmark = FILED


def test_every_moment_is_answered_as_by_the_original(cluster: Cluster) -> None:
    lived = live(cluster, rounds=5)
    cluster.refresh_from_db()
    copy = opened(exported(cluster))
    client = rest.logged_in()
    for at in (*map(str, [position for position, _ in lived.places[4::9]]), None):
        for path in (*PATHS, *LISTED, *some_pods(cluster)):
            then = answered(client, cluster, path, at)
            assert (then[0], answered(client, copy, path, at)) == (200, then), (at, path)


LISTED = [f"lists/{what}?limit=1000" + ("&q=-kind:Cluster" if what == "changes" else "") for what in LISTS]
PRESENT = (
    "lists/pods?q=",
    "lists/attempts?q=",
    "lists/changes?q=kind:pod",
    "preemptions",
    "events",
    "attempts?limit=20",
    "pending",
)


def some_pods(cluster: Cluster) -> list[str]:
    pods = Pod.objects.filter(cluster=cluster).order_by("id")[:2]
    found = [f"pods/{pod.namespace}/{pod.name}" for pod in pods]
    return [*found, *(f"{path}/{what}" for path in found for what in ("attempts", "history"))]


def test_kubernetes_api_tells_the_past_of_the_file(cluster: Cluster) -> None:
    lived = live(cluster, rounds=5)
    cluster.refresh_from_db()
    copy = opened(exported(cluster))
    for at in (*map(str, [position for position, _ in lived.places[4::9]]), f"{cluster.rv}.{cluster.seq}"):
        for path, query in api.PATHS:
            then = api.answered(cluster, path, query, at)
            found = api.answered(copy, path, query, at)
            if path.endswith("/events"):
                for each in (*then[1]["items"], *found[1]["items"]):
                    del each["metadata"]["uid"]  # made for each cluster
            assert (then[0], found) == (200, then), (at, path)
    for at, code in (("0.0", 405), (None, 403)):
        request = Request(copy.name, "DELETE", "/api/v1/nodes/n001", {}, {}, at=at)
        with pytest.raises(RefusedError) as refused:
            access.authorize(msgspec.structs.replace(api.who(copy), is_record=True), request)
        assert refused.value.status.code == code


def test_history_is_played_and_drawn_as_that_of_the_original(cluster: Cluster) -> None:
    live(cluster, rounds=5)
    done = Binding.objects.filter(cluster=cluster, status="done").order_by("pk")
    Binding.objects.filter(pk__in=done.values("pk")[:3]).update(status="refused")
    cluster_services.scheduler_config_set(
        cluster_id=cluster.pk, content=living.CONFIGURATIONS[1].encode() + b"\n", actor="test"
    )
    cluster.refresh_from_db()
    copy = opened(exported(cluster))
    client = rest.logged_in()
    after = [0, 0]
    while after != [cluster.rv, cluster.seq]:
        path = f"frames?rv={after[0]}&seq={after[1]}&steps=50"
        then = answered(client, cluster, path)
        assert (then[0], answered(client, copy, path)) == (200, then), path
        after = then[1]["frames"][-1]["to"]
    _, told = answered(client, copy, "timeline")
    counted: Counter[str] = sum((Counter(bucket["results"]) for bucket in told["buckets"]), Counter())
    assert sum(counted.values()) == cycles(copy)
    assert (
        sum(bucket["refused"] for bucket in told["buckets"])
        == Binding.objects.filter(cluster=cluster, status="refused").count()
        >= 3
    )
    assert told["configurations"][-1]["version"] == cluster.config_version  # of the moment at which the clock stands
    span = urlencode({name: moment_of(told[f"{name}_ms"] * 1000).isoformat() for name in ("since", "until")})
    then = answered(client, cluster, f"timeline?{span}")
    assert (then[0], answered(client, copy, f"timeline?{span}")) == (200, then)


def test_present_of_the_file_is_the_end_of_its_history(cluster: Cluster) -> None:
    live(cluster, rounds=3)
    copy = opened(exported(cluster))
    client = rest.logged_in()
    for path in PRESENT:
        now = answered(client, cluster, path)
        assert (now[0], answered(client, copy, path)) == (200, now), path
    seq = Attempt.objects.filter(cluster=cluster, result="scheduled").latest("seq").seq
    again = f"attempts/{seq}/again?limit=5"
    status, told = answered(client, copy, again)
    assert status == 200 and told["difference"] is None
    assert (status, told) == answered(client, cluster, again)
    assert answered(client, copy, f"attempts/{seq}") == answered(client, cluster, f"attempts/{seq}")
