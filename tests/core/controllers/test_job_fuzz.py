"""Jobs under random ends and deletions of their pods, with controllers made anew at random points.

At the end every job is over, every pod was counted once, none is held by the finalizer, and nothing moves any more.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler_core.apiserver.requests import Delete
from scheduler_core.controllers.workloads.job_indexes import Indexes
from tests.core.controllers.job_clusters import JobCluster, job
from tests.core.controllers.simulation import Manifest
from tests.examples import seeds

CALM_SECONDS = 1800


def random_job(draws: Random, name: str) -> Manifest:
    spec: dict[str, Any] = {"parallelism": draws.randint(1, 4), "completions": draws.randint(1, 6)}
    spec["backoffLimit"] = draws.choice([0, 1, 3, 6])
    if draws.random() < 0.5:
        spec["completionMode"] = "Indexed"
        if draws.random() < 0.5:
            spec["backoffLimitPerIndex"] = draws.randint(0, 2)
            spec["backoffLimit"] = None
            if draws.random() < 0.5:
                spec["maxFailedIndexes"] = draws.randint(0, spec["completions"])
        if draws.random() < 0.3:
            spec["successPolicy"] = {"rules": [{"succeededCount": draws.randint(1, spec["completions"])}]}
    if draws.random() < 0.3:
        codes = {"operator": "In", "values": [42]}
        spec["podFailurePolicy"] = {"rules": [{"action": draws.choice(["Ignore", "FailJob"]), "onExitCodes": codes}]}
    elif draws.random() < 0.4:
        spec["podReplacementPolicy"] = draws.choice(["Failed", "TerminatingOrFailed"])
    if draws.random() < 0.2:
        spec["activeDeadlineSeconds"] = draws.randint(1, 300)
    return job(name, **spec)


def disturb(cluster: JobCluster, draws: Random, jobs: list[str]) -> None:
    """Do one thing that happens to jobs."""
    pods = cluster.pods()
    bound = [pod for pod in cluster.all("Pod") if "nodeName" in pod["spec"]]  # others are the pod collector's
    match draws.randrange(9):
        case 0 | 1 | 2 if pods:
            cluster.end(draws.choice(pods), code=draws.choice([0, 0, 1, 42]))
        case 3 if bound:
            cluster.delete("Pod", draws.choice(bound)["metadata"]["name"], grace=draws.choice([None, 0]))
        case 4:
            cluster.patch("Job", draws.choice(jobs), {"spec": {"parallelism": draws.randint(0, 5)}})
        case 5:
            cluster.patch("Job", draws.choice(jobs), {"spec": {"suspend": draws.random() < 0.5}})
        case 6:
            cluster.restart()
        case 7 if bound:
            cluster.run(0.3)
            cluster.world.request(Delete(cluster.key("Pod", draws.choice(bound)["metadata"]["name"])))
        case _:
            cluster.run(draws.choice([0.2, 1, 5, 30]))


@pytest.mark.parametrize("seed", seeds(5, 12))
def test_jobs_come_to_an_end_whatever_happens(seed: int) -> None:
    draws = Random(seed)
    cluster = JobCluster(seed=seed)
    jobs = [f"job-{number}" for number in range(3)]
    for name in jobs:
        cluster.create(random_job(draws, name))
    for _ in range(60):
        disturb(cluster, draws, jobs)
    for name in jobs:
        cluster.patch("Job", name, {"spec": {"suspend": False, "parallelism": 3}})
    for _ in range(120):
        cluster.run(12)
        for pod in cluster.pods():
            cluster.end(pod)
    version = cluster.version
    cluster.run(CALM_SECONDS)
    assert cluster.version == version, "something moves on its own"
    assert not cluster.tracked()
    assert cluster.pods() == []
    for name in jobs:
        assert_over(cluster.get("Job", name), seed)


def assert_over(manifest: Manifest, seed: int) -> None:
    spec, status = manifest["spec"], manifest["status"]
    conditions = {one["type"] for one in status["conditions"] if one["status"] == "True"}
    assert ("Complete" in conditions) != ("Failed" in conditions), (seed, manifest)
    assert ("completionTime" in status) == ("Complete" in conditions)
    assert (status.get("active", 0), status["ready"], status["terminating"]) == (0, 0, 0)
    assert status["uncountedTerminatedPods"] == {}
    succeeded = status.get("succeeded", 0)
    if "Complete" in conditions and "successPolicy" not in spec:
        assert succeeded >= spec["completions"]
    if spec["completionMode"] == "Indexed":
        done = Indexes.parse(status.get("completedIndexes", ""), spec["completions"])
        failed = Indexes.parse(status.get("failedIndexes", ""), spec["completions"])
        assert len(done) == succeeded <= spec["completions"]
        assert done.common(failed) == 0


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_every_end_of_a_pod_is_counted_once(seed: int) -> None:
    draws = Random(seed)
    cluster = JobCluster(seed=seed)
    cluster.create(job("a", parallelism=4, completions=500, backoffLimit=10_000))
    ended = {0: 0, 1: 0}
    for _ in range(150):
        pods = cluster.pods()
        chance = draws.random()
        if pods and chance < 0.6:
            code = int(draws.random() < 0.3)
            cluster.end(draws.choice(pods), code=code)
            ended[code] += 1
        elif chance < 0.7:
            cluster.restart()
        elif chance < 0.8 and cluster.all("Pod"):
            pod = draws.choice(cluster.all("Pod"))
            is_alive = pod in pods
            cluster.world.request(Delete(cluster.key("Pod", pod["metadata"]["name"])))
            ended[1] += is_alive
        else:
            cluster.run(draws.choice([0.5, 2, 20]))
    cluster.run(40)
    status = cluster.status("a")
    assert (status.get("succeeded", 0), status.get("failed", 0)) == (ended[0], ended[1])
