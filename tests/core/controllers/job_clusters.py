"""Clusters in which tests end the pods of jobs."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.api.times import time_text
from tests.builders import written
from tests.core.controllers.simulation import Manifest, Simulation

TRACKING: Final = "batch.kubernetes.io/job-tracking"


def job(name: str, *, policy: str = "Never", annotations: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """Return a job whose pods run until a test ends them."""
    pod = {"restartPolicy": policy, "containers": [{"name": "c", "image": "i:1"}]}
    template = {"metadata": {"annotations": annotations or {}}, "spec": pod}
    given = {field: value for field, value in spec.items() if value is not None}
    return written("Job", name, spec={"template": template, **given})


class JobCluster(Simulation):
    """A cluster of jobs."""

    def status(self, name: str) -> Manifest:
        status: Manifest = self.get("Job", name)["status"]
        return status

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """Return reason and message of the job's conditions by their types."""
        return {one["type"]: (one["reason"], one["message"]) for one in self.status(name).get("conditions", ())}

    def tracked(self) -> list[Manifest]:
        """Return the pods that have the finalizer of jobs."""
        return [pod for pod in self.all("Pod") if TRACKING in pod["metadata"].get("finalizers", ())]

    def end(self, pod: Manifest, code: int = 0, conditions: list[Manifest] | None = None) -> None:
        """Let a pod end with this exit code."""
        at = time_text(self.world.now)
        ended = {"exitCode": int(code), "startedAt": at, "finishedAt": at}
        container = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
        status = {
            "phase": "Failed" if code else "Succeeded",
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at}, *(conditions or ())],
            "containerStatuses": [{**container, "state": {"running": None, "terminated": ended}}],
        }
        self.patch("Pod", pod["metadata"]["name"], {"status": status}, subresource="status")

    def end_all(self, seconds: int) -> None:
        """Let every pod end well, for that long."""
        for _ in range(seconds):
            for pod in self.pods():
                self.end(pod)
            self.run(1)

    def run_until_pod(self) -> None:
        """Let time pass, tenths of seconds, until there is a pod that has not ended."""
        for _ in range(10_000):
            if self.pods():
                return
            self.run(0.1)
        raise AssertionError("no pod is made")
