"""CronJobs start a job at each time of their schedule, make up for what was missed, and keep a history."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.controllers.workloads.cronjobs import SCHEDULED_AT
from tests.builders import written
from tests.cases import cases
from tests.core.controllers.job_clusters import JobCluster, job
from tests.core.controllers.simulation import START, Manifest

MINUTE = 60


@pytest.fixture
def cluster() -> JobCluster:
    return JobCluster()


def cron(schedule: str, *, run: float | None = 5, job_spec: Manifest | None = None, **spec: Any) -> Manifest:
    """Return a cron job whose jobs run for so many seconds."""
    annotations = {} if run is None else {"kschedweb.io/run-seconds": str(run)}
    template = job("x", annotations=annotations, **(job_spec or {}))["spec"]
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    whole = {"schedule": schedule, "jobTemplate": {"metadata": metadata, "spec": template}, **spec}
    return written("CronJob", "tick", spec=whole)


def names(cluster: JobCluster) -> list[int]:
    """The minutes since the start that the jobs' names tell."""
    return [int(one["metadata"]["name"].removeprefix("tick-")) - START // 60_000_000 for one in cluster.all("Job")]


def status(cluster: JobCluster) -> Manifest:
    found: Manifest = cluster.get("CronJob", "tick")["status"]
    return found


def test_job_starts_at_each_time_and_says_so(cluster: JobCluster) -> None:
    owner = cluster.begin(cron("*/2 * * * *"), 2 * MINUTE + 2)
    (made,) = cluster.all("Job")
    metadata = made["metadata"]
    assert names(cluster) == [2]
    assert metadata["labels"] | {"a": "b"} == metadata["labels"]
    assert metadata["annotations"] == {"c": "d", SCHEDULED_AT: "2030-01-01T00:02:00Z"}
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": owner["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True,
        }
    ]  # fmt: skip
    assert status(cluster)["lastScheduleTime"] == "2030-01-01T00:02:00Z"
    (running,) = status(cluster)["active"]
    assert (running["kind"], running["name"], running["uid"]) == ("Job", metadata["name"], metadata["uid"])
    cluster.run(30)
    assert "active" not in status(cluster)
    assert status(cluster)["lastSuccessfulTime"] == cluster.status(metadata["name"])["completionTime"]
    (event,) = cluster.events("SuccessfulCreate", "tick")
    assert (event["message"], event["source"]["component"]) == (f"Created job {metadata['name']}", "cronjob-controller")
    (event,) = cluster.events("SawCompletedJob")
    assert event["message"] == f"Saw completed job: {metadata['name']}, condition: Complete"


def test_history_is_kept_to_its_limits(cluster: JobCluster) -> None:
    cluster.begin(cron("* * * * *", successfulJobsHistoryLimit=2), 7 * MINUTE + 30)
    assert names(cluster) == [6, 7]
    assert len(cluster.events("SuccessfulDelete", "tick")) == 5
    assert len(cluster.all("Pod")) == 2


@cases(
    "policy, running, reason",
    ("one beside the other", "Allow", [1, 2, 3], "SuccessfulCreate"),
    ("not while one runs", "Forbid", [1], "JobAlreadyActive"),
    ("instead of the one before", "Replace", [3], "SuccessfulDelete"),
)
def test_jobs_that_run_are_dealt_with_as_the_policy_says(
    cluster: JobCluster, policy: str, running: list[int], reason: str
) -> None:
    cluster.begin(cron("* * * * *", run=None, concurrencyPolicy=policy), 3 * MINUTE + 40)
    assert names(cluster) == running
    assert len(status(cluster)["active"]) == len(running)
    assert cluster.events(reason, "tick")


def test_suspended_cron_job_starts_nothing_and_then_makes_up_for_the_last(cluster: JobCluster) -> None:
    cluster.begin(cron("* * * * *", suspend=True), 10 * MINUTE + 20)
    assert names(cluster) == []
    cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
    cluster.run(5)
    assert names(cluster) == [10]


def test_start_that_is_too_late_is_missed(cluster: JobCluster) -> None:
    cluster.begin(cron("*/10 * * * *", suspend=True, startingDeadlineSeconds=15), 10 * MINUTE + 16)
    cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
    cluster.run(60)
    assert names(cluster) == []
    cluster.run(9 * MINUTE)
    assert names(cluster) == [20]


def test_many_missed_starts_are_warned_of(cluster: JobCluster) -> None:
    cluster.begin(cron("* * * * *", suspend=True), 3 * 3600 + 5)
    cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
    cluster.run(5)
    assert names(cluster) == [180]
    assert cluster.events("TooManyMissedTimes")


def test_zone_is_that_of_the_cron_job(cluster: JobCluster) -> None:
    cluster.begin(cron("30 2 * * *", timeZone="Asia/Tokyo"), 86_400)
    (made,) = cluster.all("Job")
    stamp = made["metadata"]["annotations"][SCHEDULED_AT]
    assert stamp == "2030-01-02T02:30:00+09:00"
    assert status(cluster)["lastScheduleTime"] == "2030-01-01T17:30:00Z"


def test_job_that_is_gone_is_no_longer_active(cluster: JobCluster) -> None:
    cluster.begin(cron("*/5 * * * *", run=None), 5 * MINUTE + 5)
    (made,) = cluster.all("Job")
    cluster.delete("Job", made["metadata"]["name"])
    cluster.run(5)
    assert "active" not in status(cluster)
    (event,) = cluster.events("MissingJob")
    assert event["message"] == f"Active job went missing: {made['metadata']['name']}"


def test_job_made_by_hand_is_seen_but_not_taken_for_a_start(cluster: JobCluster) -> None:
    owner = cluster.create(cron("0 0 * * *"))
    manual = job("by-hand")
    manual["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": owner["metadata"]["uid"],
         "controller": True},
    ]  # fmt: skip
    cluster.begin(manual, 5)
    assert "lastScheduleTime" not in status(cluster)
    (event,) = cluster.events("UnexpectedJob")
    assert event["message"] == "Saw a job that the controller did not create or forgot: by-hand"


def test_nothing_is_started_twice_by_new_controllers(cluster: JobCluster) -> None:
    cluster.create(cron("*/3 * * * *", run=100, successfulJobsHistoryLimit=50))
    for _ in range(60):
        cluster.run(30)
        cluster.restart()
    cluster.run(5)
    assert names(cluster) == list(range(3, 31, 3))
    assert len(cluster.all("Pod")) == 10


def test_interval_counts_from_the_last_start(cluster: JobCluster) -> None:
    cluster.run(17)
    cluster.begin(cron("@every 90s", successfulJobsHistoryLimit=9), 300)
    starts = [one["metadata"]["annotations"][SCHEDULED_AT] for one in cluster.all("Job")]
    assert starts == ["2030-01-01T00:01:47Z", "2030-01-01T00:03:17Z", "2030-01-01T00:04:47Z"]


def test_deleted_cron_job_takes_its_jobs_along(cluster: JobCluster) -> None:
    cluster.begin(cron("* * * * *", run=None), 2 * MINUTE + 5)
    cluster.delete("CronJob", "tick")
    cluster.run(60)
    assert (cluster.all("Job"), cluster.all("Pod")) == ([], [])


def test_a_day_of_starts_costs_few_writes(cluster: JobCluster) -> None:
    cluster.begin(cron("0 * * * *"), 86_405)
    assert status(cluster)["lastScheduleTime"] == "2030-01-02T00:00:00Z"
    assert cluster.version < 24 * 40
