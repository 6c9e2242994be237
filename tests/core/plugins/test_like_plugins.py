"""What several plugins do alike: they fail without their state of the cycle, and hear of new nodes."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.framework.answers import ALL_ROWS, QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import NODE_ADD
from scheduler_core.model.status import Status
from scheduler_core.model.types import PodInfo
from tests.builders import make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, make_table

POD = make_pod().host_port(80).claim_volume("c").build()


@pytest.mark.parametrize("name", ["NodeName", "NodePorts", "VolumeRestrictions", "VolumeBinding"])
def test_any_new_node_queues_the_pod(name: str) -> None:
    assert ask_hint(make_plugin(name), NODE_ADD, POD, None, make_node()) is QueueingHint.QUEUE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        ("NodeResourcesFit", 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        ("InterPodAffinity", 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreFilterPodTopologySpread" from cycleState: not found'),
        ("VolumeBinding", "not found"),
    ],
)
def test_filter_fails_when_pre_filter_did_not_run(name: str, text: str) -> None:
    plugin, info, want = make_plugin(name), make_info(make_node()), Status.failed(text)
    assert plugin.filter(CycleState(), POD, info) == want
    verdicts = plugin.filter_nodes(CycleState(), POD, make_table([info]), ALL_ROWS)
    assert (verdicts.codes.tolist(), list(verdicts.statuses)) == ([1], [want])
    if name in ("InterPodAffinity", "PodTopologySpread"):
        assert plugin.add_pod(CycleState(), POD, PodInfo.of(POD), info) == want


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TaintToleration", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
    ],
)
def test_score_fails_when_pre_score_did_not_run(name: str, text: str) -> None:
    plugin, info = make_plugin(name), make_info(make_node())
    assert plugin.score(CycleState(), POD, info)[1] == Status.failed(text)
    assert plugin.score_nodes(CycleState(), POD, make_table([info]), np.zeros(1, dtype=np.int32)) is None
