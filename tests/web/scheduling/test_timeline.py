"""What happened over time: frames by step, and the line of a cluster's history."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db.models import F

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import retention
from kschedweb.scheduling.models import Binding
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from tests.web import rest
from tests.web.scheduling import lived as living
from tests.web.scheduling.conftest import put

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence")]


def test_frames_by_step_are_what_the_socket_sent_each_at_a_moment_that_can_be_shown(cluster: Cluster) -> None:
    living.live(cluster, rounds=4)
    put(cluster, rest.node("late"))
    cluster.refresh_from_db()
    client, url = rest.logged_in(), f"/api/clusters/{cluster.pk}/frames"
    frames: list[Any] = []
    after, end = [0, 0], [cluster.rv, cluster.seq]
    while after != end:
        found = client.get(f"{url}?rv={after[0]}&seq={after[1]}&steps=7").json()["frames"]
        assert 1 <= len(found) <= 7
        frames += found
        after = found[-1]["to"]
    assert client.get(f"{url}?rv={end[0]}&seq={end[1]}&steps=7").json() == {"frames": []}
    assert [frame["from"] for frame in frames] == [[0, 0], *(frame["to"] for frame in frames[:-1])]
    assert [frame["at"] for frame in frames] == sorted(frame["at"] for frame in frames)
    whole = client.get(f"{url}?rv=0&seq=0").json()["frames"]
    for log, place in (("rv", 0), ("seq", 1)):
        sent = [event for frame in whole for event in frame["events"] if log in event]
        assert [event for frame in frames for event in frame["events"] if log in event] == sent
        for frame in frames:
            assert all(
                frame["from"][place] < event[log] <= frame["to"][place] for event in frame["events"] if log in event
            )
    steps = EngineStep.objects.filter(cluster=cluster, seq_to__gt=F("seq_from")).values_list("seq_to", flat=True)
    assert {frame["to"][1] for frame in frames} >= set(steps)
    for frame in frames[:: len(frames) // 5]:
        at = "{}.{}".format(*frame["to"])
        assert client.get(f"/api/clusters/{cluster.pk}/snapshot?at={at}").json()["cursor"] == frame["to"]
    beyond = client.get(f"{url}?rv={end[0] + 1}&seq={end[1]}&steps=7")
    assert (beyond.status_code, beyond.json()["code"]) == (410, "gone")


def test_timeline_counts_what_happened_and_says_where_history_begins(cluster: Cluster) -> None:
    living.live(cluster, rounds=6)
    cluster_services.scheduler_config_set(
        cluster_id=cluster.pk, content=living.CONFIGURATIONS[1].encode() + b"\n", actor="test"
    )
    searched = Attempt.objects.filter(cluster=cluster, result="unschedulable").order_by("seq")
    for row, victims in zip(searched, (2, 0, 1), strict=False):
        Attempt.objects.filter(pk=row.pk).update(preemption={"num_victims": victims})
    done = Binding.objects.filter(cluster=cluster, status="done")
    Binding.objects.filter(pk__in=done.order_by("pk").values("pk")[:3]).update(status="refused")
    client, url = rest.logged_in(), f"/api/clusters/{cluster.pk}/timeline"
    told = client.get(url).json()
    assert (told["begins"]["rv"], told["begins"]["seq"]) == (0, 0)
    assert told["since_ms"] <= told["begins"]["at_ms"] < told["until_ms"]
    counted: Counter[str] = Counter()
    for bucket in told["buckets"]:
        assert (bucket["at_ms"] - told["since_ms"]) % told["bucket_ms"] == 0
        counted.update(bucket["results"])
    cycles = EngineStep.objects.filter(cluster=cluster).values_list("cycles", flat=True)
    assert sum(counted.values()) == sum(cycles) and counted["scheduled"] and counted["unschedulable"]
    assert sum(bucket["preemptions"] for bucket in told["buckets"]) == 2
    refused = Binding.objects.filter(cluster=cluster, status="refused").count()
    assert sum(bucket["refused"] for bucket in told["buckets"]) == refused >= 3
    cluster.refresh_from_db()
    assert told["configurations"][-1]["version"] == cluster.config_version
    few = client.get(f"{url}?buckets=1").json()["buckets"]
    assert [sum(bucket["results"].values()) for bucket in few] == [sum(cycles)]
    assert client.get(f"{url}?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z").json()["buckets"] == []
    assert client.get(f"{url}?since=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z").status_code == 400
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    retention._clear(cluster.pk, retention.Cut(row.seq, row.rv, row.at, row.run, row.step), retention.PruneReport())
    begins = client.get(url).json()["begins"]
    assert (begins["rv"], begins["seq"]) == (row.objects_rv, row.seq)
    assert begins["at_ms"] == milliseconds(row.at)
