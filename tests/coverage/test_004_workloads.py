"""Workloads of the seed document 004: what their controllers give their pods, and that they replace them."""

from __future__ import annotations

from scheduler_core.apiserver.requests import Evict
from tests.core.controllers.simulation import Simulation, pod, workload


def test_004_daemon_tolerations() -> None:
    """default tolerations 300 s, DaemonSet tolerations"""
    cluster = Simulation(nodes=1)
    cluster.create(workload("DaemonSet", "d", replicas=None))
    cluster.create(pod("plain", app="none"))
    cluster.run(10)
    (daemon,) = cluster.pods(app="d")
    evicting = [one for one in daemon["spec"]["tolerations"] if one["effect"] == "NoExecute"]
    assert [(one["key"], one["operator"], one.get("tolerationSeconds")) for one in evicting] == [
        ("node.kubernetes.io/not-ready", "Exists", None),
        ("node.kubernetes.io/unreachable", "Exists", None),
    ]
    pressure = {one["key"].rpartition("/")[2] for one in daemon["spec"]["tolerations"] if one["effect"] == "NoSchedule"}
    assert pressure == {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}
    (plain,) = cluster.pods(app="none")
    assert [one["tolerationSeconds"] for one in plain["spec"]["tolerations"]] == [300, 300]


def test_004_workload_replacement() -> None:
    """static pod self-healing, workload replacement of evicted pods"""
    cluster = Simulation(nodes=2)
    cluster.create(workload("ReplicaSet", "web", replicas=2))
    cluster.create(pod("alone", app="none"))
    cluster.run(10)
    victim = cluster.pods(app="web")[0]["metadata"]["name"]
    for name in (victim, "alone"):
        cluster.request(Evict(cluster.key("Pod", name), "TerminationByKubelet"))
    cluster.run(60)
    names = [one["metadata"]["name"] for one in cluster.pods()]
    assert len(names) == 2
    assert not {victim, "alone"} & set(names)
    assert {one["status"]["phase"] for one in cluster.pods(app="web")} == {"Running"}
