"""Jobs run their pods to the end: how many, when failed ones are replaced, and what the status says."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.requests import Propagation
from tests.cases import cases
from tests.core.controllers.job_clusters import TRACKING, JobCluster, job
from tests.core.controllers.simulation import quota

COMPLETED = ("CompletionsReached", "Reached expected number of succeeded pods")


@pytest.fixture
def cluster() -> JobCluster:
    return JobCluster()


def test_pods_follow_each_other_until_all_completions_are_there(cluster: JobCluster) -> None:
    owner = cluster.begin(job("ok", completions=3, parallelism=2), 10)
    first, second = cluster.pods()
    metadata = first["metadata"]
    assert (metadata["generateName"], metadata["finalizers"]) == ("ok-", [TRACKING])
    uid = owner["metadata"]["uid"]
    assert metadata["labels"] == {
        "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "ok",
        "controller-uid": uid, "job-name": "ok",
    }  # fmt: skip
    assert metadata["ownerReferences"][0]["blockOwnerDeletion"] is True
    cluster.end(first)
    cluster.run(0.9)
    assert len(cluster.all("Pod")) == 2, "pods are looked at a second after they changed"
    cluster.run(0.2)
    third = next(pod for pod in cluster.pods() if pod["metadata"]["name"] != second["metadata"]["name"])
    assert cluster.status("ok")["succeeded"] == 1
    cluster.end(second)
    cluster.end(third)
    cluster.run(3)
    status = cluster.status("ok")
    assert cluster.conditions("ok") == {"SuccessCriteriaMet": COMPLETED, "Complete": COMPLETED}
    assert {name: status[name] for name in ("succeeded", "ready", "terminating", "uncountedTerminatedPods")} == {
        "succeeded": 3, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
    }  # fmt: skip
    assert "completionTime" in status
    assert len(cluster.all("Pod")) == 3
    assert not cluster.tracked()
    (event,) = cluster.events("Completed")
    assert (event["message"], event["source"]["component"]) == ("Job completed", "job-controller")
    assert len(cluster.events("SuccessfulCreate")) == 3


def test_failed_pods_are_replaced_with_growing_delays_until_the_limit(cluster: JobCluster) -> None:
    cluster.create(job("bad", backoffLimit=3))
    made = []
    for _ in range(4):
        cluster.run_until_pod()
        made.append(cluster.world.now)
        cluster.end(cluster.pods()[0], code=1)
        cluster.run(1)
    waits = [round((later - sooner) / 1e6) for sooner, later in zip(made, made[1:], strict=False)]
    assert waits == [10, 20, 40]
    cluster.run(5)
    limit = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert cluster.conditions("bad") == {"FailureTarget": limit, "Failed": limit}
    assert cluster.status("bad")["failed"] == 4
    assert "completionTime" not in cluster.status("bad")
    (event,) = cluster.events("BackoffLimitExceeded")
    assert (event["type"], event["message"]) == ("Warning", limit[1])


def test_delay_is_known_to_a_new_controller(cluster: JobCluster) -> None:
    cluster.create(job("bad", backoffLimit=9))
    for _ in range(3):
        cluster.run_until_pod()
        cluster.end(cluster.pods()[0], code=1)
        cluster.run(2)
    cluster.restart()
    cluster.run(35)
    assert cluster.pods() == []
    cluster.run(5)
    assert len(cluster.pods()) == 1


def test_success_ends_the_delay(cluster: JobCluster) -> None:
    cluster.begin(job("a", completions=5, parallelism=2), 1)
    one, other = cluster.pods()
    cluster.end(one, code=1)
    cluster.run(1)
    cluster.end(other)
    cluster.run(1.5)
    assert len(cluster.pods()) == 2


def test_indexed_pods_are_named_and_know_their_index(cluster: JobCluster) -> None:
    cluster.begin(job("idx", completions=4, parallelism=2, completionMode="Indexed"), 1)
    pods = cluster.pods()
    for index, pod in enumerate(pods):
        metadata, spec = pod["metadata"], pod["spec"]
        key = "batch.kubernetes.io/job-completion-index"
        assert (metadata["generateName"], spec["hostname"]) == (f"idx-{index}-", f"idx-{index}")
        assert (metadata["labels"][key], metadata["annotations"][key]) == (str(index), str(index))
        (variable,) = spec["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{key}']"
    cluster.end(pods[0], code=1)
    cluster.end(pods[1])
    cluster.run(15)
    assert [pod["metadata"]["generateName"] for pod in cluster.pods()] == ["idx-0-", "idx-2-"]
    assert cluster.status("idx")["completedIndexes"] == "1"
    cluster.end_all(seconds=20)
    assert cluster.status("idx")["completedIndexes"] == "0-3"
    assert "Complete" in cluster.conditions("idx")


def test_each_index_has_a_limit_and_a_delay_of_its_own(cluster: JobCluster) -> None:
    spec: dict[str, Any] = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
    cluster.begin(job("idx", **spec), 1)
    for pod in cluster.pods():
        cluster.end(pod, code=pod["metadata"]["generateName"] != "idx-2-")
    cluster.run(2)
    assert cluster.tracked(), "a failed pod waits for the one that takes over its count"
    cluster.run(10)
    again = cluster.pods()
    count = "batch.kubernetes.io/job-index-failure-count"
    assert [pod["metadata"]["annotations"][count] for pod in again] == ["1", "1"]
    cluster.end(again[0], code=1)
    cluster.end(again[1])
    cluster.run(5)
    status = cluster.status("idx")
    assert (status["failedIndexes"], status["completedIndexes"], status["failed"]) == ("0", "1,2", 3)
    assert cluster.conditions("idx")["Failed"] == ("FailedIndexes", "Job has failed indexes")


def test_too_many_failed_indexes_end_the_job(cluster: JobCluster) -> None:
    cluster.create(
        job("idx", completions=4, parallelism=4, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1)
    )
    cluster.run(1)
    for pod in cluster.pods()[:2]:
        cluster.end(pod, code=1)
    cluster.run(40)
    text = "Job has exceeded the specified maximal number of failed indexes"
    assert cluster.conditions("idx")["Failed"] == ("MaxFailedIndexesExceeded", text)
    assert cluster.pods() == []
    assert cluster.status("idx")["failed"] == 4


@cases(
    "action, ends, failed",
    ("the job fails", "FailJob", True, 1),
    ("not counted", "Ignore", False, 0),
    ("counted", "Count", True, 1),
)
def test_failure_policy_decides_by_exit_code(cluster: JobCluster, action: str, ends: bool, failed: int) -> None:
    rules = [{"action": action, "onExitCodes": {"operator": "In", "values": [42]}}]
    cluster.begin(job("a", backoffLimit=0, podFailurePolicy={"rules": rules}), 1)
    pod = cluster.pods()[0]
    cluster.end(pod, code=42)
    cluster.run(5)
    assert ("Failed" in cluster.conditions("a")) is ends
    assert cluster.status("a").get("failed", 0) == failed
    if action == "FailJob":
        text = f"Container c for pod default/{pod['metadata']['name']} failed with exit code 42"
        assert cluster.conditions("a")["Failed"] == ("PodFailurePolicy", f"{text} matching FailJob rule at index 0")


def test_disruption_is_ignored_where_the_policy_says_so(cluster: JobCluster) -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    cluster.begin(job("a", backoffLimit=0, podFailurePolicy={"rules": rules}), 1)
    pod = cluster.pods()[0]
    cluster.end(pod, code=137, conditions=[{"type": "DisruptionTarget", "status": "True"}])
    cluster.run(15)
    assert len(cluster.pods()) == 1
    assert cluster.status("a").get("failed", 0) == 0


def test_success_policy_ends_the_job_early(cluster: JobCluster) -> None:
    policy = {"rules": [{"succeededIndexes": "0-2", "succeededCount": 2}]}
    cluster.begin(job("a", completions=5, parallelism=3, completionMode="Indexed", successPolicy=policy), 1)
    for pod in cluster.pods()[1:]:
        cluster.end(pod)
    cluster.run(40)
    assert cluster.conditions("a")["Complete"] == ("SuccessPolicy", "Matched rules at index 0")
    assert (cluster.status("a")["succeeded"], cluster.status("a").get("failed", 0)) == (2, 0)
    assert cluster.pods() == []


def test_deadline_ends_the_job(cluster: JobCluster) -> None:
    cluster.begin(job("a", completions=4, parallelism=2, activeDeadlineSeconds=30), 29)
    assert len(cluster.pods()) == 2
    cluster.run(35)
    assert cluster.pods() == []
    text = "Job was active longer than specified deadline"
    assert cluster.conditions("a") == {
        "FailureTarget": ("DeadlineExceeded", text), "Failed": ("DeadlineExceeded", text),
    }  # fmt: skip
    assert cluster.status("a")["failed"] == 2


def test_suspended_job_has_no_pods_and_its_clock_starts_anew(cluster: JobCluster) -> None:
    cluster.begin(job("a", completions=2, parallelism=2, activeDeadlineSeconds=100), 30)
    cluster.patch("Job", "a", {"spec": {"suspend": True}})
    cluster.run(60)
    assert cluster.pods() == []
    assert cluster.status("a").get("failed", 0) == 0
    assert cluster.conditions("a") == {"Suspended": ("JobSuspended", "Job suspended")}
    cluster.patch("Job", "a", {"spec": {"suspend": False}})
    cluster.run(60)
    assert len(cluster.pods()) == 2
    assert cluster.conditions("a") == {"Suspended": ("JobResumed", "Job resumed")}
    assert [event["message"] for event in (*cluster.events("Suspended"), *cluster.events("Resumed"))] == [
        "Job suspended", "Job resumed",
    ]  # fmt: skip
    cluster.run(30)
    assert len(cluster.pods()) == 2, "120 s after its creation"
    cluster.run(60)
    assert cluster.pods() == []


def test_fewer_pods_are_wanted(cluster: JobCluster) -> None:
    cluster.begin(job("a", completions=9, parallelism=4), 5)
    cluster.patch("Job", "a", {"spec": {"parallelism": 1}})
    cluster.run(40)
    assert len(cluster.pods()) == 1
    assert cluster.status("a").get("failed", 0) == 0, "what is taken away is no failure"
    assert len(cluster.events("SuccessfulDelete")) == 3


@cases(
    "policy, soon",
    ("at once", "TerminatingOrFailed", 2),
    ("when over", "Failed", 1),
)
def test_deleted_pod_is_replaced(cluster: JobCluster, policy: str, soon: int) -> None:
    annotations = {"kschedweb.io/stop-seconds": "20"}
    cluster.begin(job("a", completions=2, parallelism=2, podReplacementPolicy=policy, annotations=annotations), 5)
    cluster.delete("Pod", cluster.pods()[0]["metadata"]["name"])
    cluster.run(12)
    assert len(cluster.pods()) == soon
    cluster.run(30)
    assert len(cluster.pods()) == 2
    assert cluster.status("a")["failed"] == 1


def test_deleted_job_lets_its_pods_go(cluster: JobCluster) -> None:
    cluster.begin(job("a", parallelism=2), 5)
    cluster.delete("Job", "a", Propagation.BACKGROUND)
    cluster.run(40)
    assert cluster.all("Pod") == []


def test_orphaned_pods_lose_the_finalizer(cluster: JobCluster) -> None:
    cluster.begin(job("a", parallelism=2), 5)
    cluster.delete("Job", "a", Propagation.ORPHAN)
    cluster.run(5)
    assert len(cluster.pods()) == 2
    assert not cluster.tracked()


def test_job_that_another_manages_is_left_alone(cluster: JobCluster) -> None:
    cluster.begin(job("a", managedBy="example.com/mine"), 60)
    assert cluster.all("Pod") == []
    assert "startTime" not in cluster.status("a")


def test_pod_with_the_jobs_labels_is_adopted_and_one_without_released(cluster: JobCluster) -> None:
    metadata = {"name": "stray", "namespace": "default", "labels": {"x": "y"}}
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    manifest = job("a", completions=2, parallelism=2, manualSelector=True, selector={"matchLabels": {"x": "y"}})
    manifest["spec"]["template"]["metadata"]["labels"] = {"x": "y"}
    cluster.begin(manifest, 5)
    assert len(cluster.pods()) == 2
    stray = cluster.get("Pod", "stray")["metadata"]
    assert (stray["ownerReferences"][0]["name"], stray["finalizers"]) == ("a", [TRACKING])
    cluster.patch("Pod", "stray", {"metadata": {"labels": {"x": "z"}}})
    cluster.run(5)
    stray = cluster.get("Pod", "stray")["metadata"]
    assert "ownerReferences" not in stray
    assert "finalizers" not in stray
    assert len(cluster.pods()) == 3


def test_work_without_a_number_of_completions_ends_with_the_last_pod(cluster: JobCluster) -> None:
    cluster.begin(job("queue", parallelism=3, completions=None), 2)
    one, *others = cluster.pods()
    cluster.end(one)
    cluster.run(5)
    assert len(cluster.pods()) == 2
    for pod in others:
        cluster.end(pod)
    cluster.run(3)
    assert "Complete" in cluster.conditions("queue")


def test_restarts_within_pods_count_against_the_limit(cluster: JobCluster) -> None:
    cluster.begin(job("a", policy="OnFailure", backoffLimit=2), 3)
    name = cluster.pods()[0]["metadata"]["name"]
    statuses = [{"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 2}]
    cluster.patch("Pod", name, {"status": {"containerStatuses": statuses}}, subresource="status")
    cluster.run(40)
    assert cluster.conditions("a")["Failed"][0] == "BackoffLimitExceeded"


def test_refused_pods_are_tried_again(cluster: JobCluster) -> None:
    cluster.begin(quota(pods="1"), 1)
    cluster.begin(job("a", completions=3, parallelism=3), 30)
    assert len(cluster.pods()) == 1
    assert cluster.status("a")["active"] == 1
    assert cluster.events("FailedCreate")
    cluster.patch("ResourceQuota", "q", {"spec": {"hard": {"pods": "9"}}})
    cluster.run(1_000)
    assert len(cluster.pods()) == 3


def test_as_many_failed_indexes_as_allowed_do_not_end_the_job(cluster: JobCluster) -> None:
    cluster.create(
        job("idx", completions=4, parallelism=4, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1)
    )
    cluster.run(1)
    cluster.end(cluster.pods()[0], code=1)
    cluster.run(40)
    assert "Failed" not in cluster.conditions("idx") and len(cluster.pods()) == 3


def test_job_has_failed_when_its_pods_are_gone(cluster: JobCluster) -> None:
    cluster.begin(job("a", activeDeadlineSeconds=10, annotations={"kschedweb.io/stop-seconds": "20"}), 20)
    assert set(cluster.conditions("a")) == {"FailureTarget"}
    cluster.run(20)
    assert set(cluster.conditions("a")) == {"FailureTarget", "Failed"}
