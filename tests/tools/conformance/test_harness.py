"""What the harness tells of cycles of which the open recordings have none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import make_manifest, make_node, make_pod
from tools.conformance.harness import run_scenario

GPU = "gpu.example.com"


def scenario(**parts: Any) -> dict[str, Any]:
    return {"name": "s", "config": None, "objects": [], "pending": [], **parts}


def devices() -> list[dict[str, Any]]:
    """A class, two devices that every node reaches, and a claim that asks for one."""
    expression = {"cel": {"expression": f'device.driver == "{GPU}"'}}
    asked = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    pool = {"name": "all", "generation": 1, "resourceSliceCount": 1}
    slices = {"driver": GPU, "pool": pool, "allNodes": True, "devices": [{"name": "a"}, {"name": "b"}]}
    return [
        make_manifest("DeviceClass", "gpu", spec={"selectors": [expression]}),
        make_manifest("ResourceSlice", "all", spec=slices),
        make_manifest("ResourceClaim", "own", spec={"devices": {"requests": [asked]}}),
    ]


@pytest.mark.parametrize("use_table", [True, False])
def test_cycle_whose_pre_bind_failed_tells_which_nodes_were_tied(use_table: bool) -> None:
    # A claim that a pod lists twice cannot be written: the second write is based on what it was before the first.
    pod = make_pod("p").spec(resourceClaims=[{"name": name, "resourceClaimName": "own"} for name in ("x", "y")])
    nodes = [make_node(name).manifest() for name in ("n1", "n2", "n3")]
    result = run_scenario(scenario(objects=[*nodes, *devices()], pending=[pod.manifest()]), use_table=use_table)
    (cycle,) = result["cycles"]
    assert (cycle["outcome"], cycle["stage"], cycle["node"]) == ("error", "preBind", "n1")
    assert cycle["feasible"] == cycle["tied"] == ["n1", "n2", "n3"]
