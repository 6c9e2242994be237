"""The workload with devices: every pod has a claim, and gets a device of the model it asks for, each device once."""

from __future__ import annotations

from tools.bench.engine.devices import CLASS, DRIVER
from tools.bench.engine.keeping import Keeper, Trace
from tools.bench.engine.l1 import run
from tools.bench.engine.meter import idle_meter
from tools.bench.engine.prepare import prepare
from tools.bench.engine.workload import Workload

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": ""},
    "status": {"allocatable": {"cpu": "8", "pods": "9"}},
}
SPEC = {"schedulerName": "default-scheduler", "containers": [{"name": "c"}]}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "", "namespace": "default"}, "spec": SPEC}


def test_pods_of_the_workload_take_one_device_each() -> None:
    plain = Workload("W1", [], [NODE], [0, 0], [], [], [POD], [0] * 8)
    ready = prepare(plain.with_devices("WD", 8))
    attempts = list(run(ready, idle_meter(), Keeper(Trace.OFF)))
    assert [attempt.result for attempt in attempts] == ["scheduled"] * 8
    assert sorted(attempt.node_name for attempt in attempts) == ["node-00000"] * 4 + ["node-00001"] * 4
    assert {
        each["spec"]["driver"] for each in plain.with_devices("WD", 8).objects() if each["kind"] == "ResourceSlice"
    } == {DRIVER}
    (wanted,) = {
        each["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"]
        for each in plain.with_devices("WD", 8).objects()
        if each["kind"] == "ResourceClaim"
    }
    assert wanted == CLASS
