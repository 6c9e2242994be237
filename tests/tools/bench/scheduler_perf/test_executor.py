"""Operations carried out at level 2, on clusters of a few nodes and pods, under a clock of the test's own."""

import json
from pathlib import Path

from tests.tools.bench.scheduler_perf.perf_files import POD, Json, operation, ran

NODES = operation("createNodes", count=2)  # four cpu each
PODS = {"p.yaml": POD}


def pods(count: int, **fields: object) -> Json:
    return operation("createPods", count=count, **{"podTemplatePath": "p.yaml", **fields})


def test_pods_of_the_measured_operation_are_counted(tmp_path: Path) -> None:
    run = ran(tmp_path, NODES, pods(3), pods(4, collectMetrics=True), templates=PODS)
    (item,) = run.items
    assert (run.missing, run.failed, item.name, item.pods) == ("", "", "namespace-2", 4)
    assert 0 < item.busy_seconds <= item.seconds and item.rate > 0


def test_runs_under_the_same_clock_are_the_same(tmp_path: Path) -> None:
    first, second = (ran(tmp_path, NODES, pods(8, collectMetrics=True), templates=PODS) for _ in range(2))
    assert first.items == second.items


def test_pods_that_never_fit_are_told_with_how_many_do(tmp_path: Path) -> None:
    run = ran(tmp_path, NODES, pods(9), templates=PODS)
    assert run.failed == "9 pods of namespace-1 to be scheduled: not within 600 s; there are 8"


def test_barrier_waits_for_what_was_tried_and_for_what_is_scheduled(tmp_path: Path) -> None:
    run = ran(
        tmp_path,
        operation("startCollectingMetrics", namespaces=["here"], labelSelector={"type": "late"}),
        pods(5, namespace="here", skipWaitToCompletion=True, podTemplatePath="late.yaml"),
        operation("barrier", stageRequirement="Attempted"),
        NODES,
        operation("barrier", labelSelector={"type": "late"}),
        pods(1, namespace="here"),
        operation("stopCollectingMetrics"),
        templates={**PODS, "late.yaml": {**POD, "metadata": {"generateName": "l-", "labels": {"type": "late"}}}},
    )
    assert [item.pods for item in run.items] == [5], run.failed


def test_pods_with_priority_take_the_room_of_others(tmp_path: Path) -> None:
    high = {**POD, "spec": {**POD["spec"], "priority": 10}}
    run = ran(
        tmp_path,
        NODES,
        pods(8),
        pods(3, podTemplatePath="high.yaml", collectMetrics=True),
        templates={**PODS, "high.yaml": high},
    )
    assert [item.pods for item in run.items] == [3], run.failed


def test_deletion_at_a_rate_makes_room_in_time(tmp_path: Path) -> None:
    run = ran(
        tmp_path,
        NODES,
        pods(8, namespace="old"),
        operation("deletePods", namespace="old", deletePodsPerSecond=2, skipWaitToCompletion=True),
        pods(8, namespace="new", collectMetrics=True),
        templates=PODS,
    )
    (item,) = run.items
    assert item.pods == 8, run.failed
    # The last pod went after 4 s; that time is jumped over.
    assert item.seconds > 3.5 and item.busy_seconds < 1.0
    assert item.samples == 3


def test_churn_goes_on_beside_and_ends_with_the_workload(tmp_path: Path) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"generateName": "s-"},
        "spec": {"ports": [{"port": 80}]},
    }
    for mode in ("create", "recreate"):
        run = ran(
            tmp_path,
            NODES,
            operation("churn", mode=mode, number=1, templatePaths=["s.yaml"], intervalMilliseconds=100),
            operation("sleep", duration="1s"),
            pods(2, collectMetrics=True),
            templates={**PODS, "s.yaml": service},
        )
        assert [item.pods for item in run.items] == [2], run.failed


def test_updates_make_pods_fit(tmp_path: Path) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: 'n-{{ .Index }}'}\nspec: {unschedulable: %s}\n"
    node += "status: {capacity: {cpu: '4', memory: 1Gi, pods: '10'}}\n"
    run = ran(
        tmp_path,
        operation("startCollectingMetrics", namespaces=["here"]),
        operation("createNodes", count=2, nodeTemplatePath="closed.yaml"),
        pods(8, namespace="here", skipWaitToCompletion=True),
        operation("barrier", stageRequirement="Attempted"),
        operation("updateAny", count=2, templatePath="open.yaml", updatePerSecond=10),
        operation("barrier"),
        operation("stopCollectingMetrics"),
        templates={**PODS, "closed.yaml": node % "true", "open.yaml": node % "false"},
    )
    assert [item.pods for item in run.items] == [8], run.failed


def test_volumes_and_claims_are_bound_and_limits_of_drivers_hold(tmp_path: Path) -> None:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "spec": {"accessModes": ["ReadOnlyMany"], "capacity": {"storage": "1Gi"}, "csi": {"driver": "d.example.com"}},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "true"}},
        "spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    limit = {"csiNodeAllocatable": {"d.example.com": {"count": 2}}}

    def run_of(count: int) -> str | int:
        run = ran(
            tmp_path,
            operation("createNodes", count=2, nodeAllocatableStrategy=limit),
            pods(
                count,
                persistentVolumeTemplatePath="v.yaml",
                persistentVolumeClaimTemplatePath="c.yaml",
                collectMetrics=True,
            ),
            templates={**PODS, "v.yaml": volume, "c.yaml": claim},
        )
        return run.failed or run.items[0].pods

    assert run_of(4) == 4
    assert run_of(5) == "5 pods of namespace-1 to be scheduled: not within 600 s; there are 4"


def test_claims_of_devices_are_made_allocated_and_given_back(tmp_path: Path) -> None:
    exactly = {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}
    kinds = {"apiVersion": "resource.k8s.io/v1"}
    claim = {**kinds, "kind": "ResourceClaim", "spec": {"devices": exactly}}
    made = {**kinds, "kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": {"devices": exactly}}}
    pod = {**POD, "spec": {**POD["spec"], "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}]}}
    run = ran(
        tmp_path,
        NODES,
        operation("createResourceDriver", driverName="d.example.com", nodes="node-*", maxClaimsPerNode=2),
        operation("createAny", templatePath="class.yaml"),
        operation("createAny", templatePath="claim.yaml", count=2, namespace="init"),
        operation("allocResourceClaims", namespace="init"),
        operation("createAny", templatePath="made.yaml", namespace="test"),
        # Two devices are left: more than two pods run only because devices come back.
        pods(2, namespace="test", podTemplatePath="pod.yaml", steadyState=True, duration="1s", collectMetrics=True),
        templates={
            "class.yaml": {**kinds, "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": {}},
            "claim.yaml": "metadata: {name: 'c-{{ .Index }}'}\n" + _fields(claim),
            "made.yaml": made,
            "pod.yaml": pod,
        },
        featureGates={"DynamicResourceAllocation": True},
    )
    (item,) = run.items
    assert item.pods > 2, run.failed
    assert 1.0 <= item.seconds < 1.5


def _fields(manifest: Json) -> str:
    """As lines of YAML, each value as JSON."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in manifest.items())
