"""Finished jobs are deleted when their time is over, with their pods first."""

from __future__ import annotations

import pytest

from tests.core.controllers.job_clusters import JobCluster, job


@pytest.fixture
def cluster() -> JobCluster:
    return JobCluster()


def test_finished_job_goes_after_its_time(cluster: JobCluster) -> None:
    cluster.create(job("a", ttlSecondsAfterFinished=30))
    cluster.create(job("kept"))
    cluster.end_all(seconds=4)
    assert "Complete" in cluster.conditions("a")
    cluster.run(20)
    assert len(cluster.all("Job")) == 2
    cluster.run(12)
    assert [each["metadata"]["name"] for each in cluster.all("Job")] == ["kept"]
    assert len(cluster.all("Pod")) == 1


def test_failed_job_goes_too_and_a_new_controller_knows_when(cluster: JobCluster) -> None:
    cluster.begin(job("a", backoffLimit=0, ttlSecondsAfterFinished=30), 2)
    cluster.end(cluster.pods()[0], code=1)
    cluster.run(15)
    cluster.restart()
    cluster.run(10)
    assert len(cluster.all("Job")) == 1
    cluster.run(12)
    assert cluster.all("Job") == []


def test_time_may_be_set_or_taken_away_later(cluster: JobCluster) -> None:
    for name in ("soon", "never"):
        cluster.create(job(name, ttlSecondsAfterFinished=3600))
    cluster.end_all(seconds=4)
    cluster.patch("Job", "soon", {"spec": {"ttlSecondsAfterFinished": 0}})
    cluster.patch("Job", "never", {"spec": {"ttlSecondsAfterFinished": None}})
    cluster.run(10)
    assert [each["metadata"]["name"] for each in cluster.all("Job")] == ["never"]
    cluster.run(7200)
    assert [each["metadata"]["name"] for each in cluster.all("Job")] == ["never"]


def test_running_job_stays(cluster: JobCluster) -> None:
    cluster.begin(job("a", ttlSecondsAfterFinished=0), 600)
    assert len(cluster.all("Job")) == 1
