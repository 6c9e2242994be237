"""Annotations of a node say how its kubelet is; what cannot be read counts as not given."""

from __future__ import annotations

from scheduler_core.controllers.node_agent import Agent, AgentState, agent_of
from tests.builders import make_node
from tests.cases import cases

START = 1_893_456_000_000_000  # 2030-01-01


@cases(
    "annotations, want",
    ("nothing said", {}, Agent(AgentState.RUNNING)),
    ("a state nobody knows", {"kschedweb.io/kubelet": "asleep"}, Agent(AgentState.RUNNING)),
    ("it is back", {"kschedweb.io/kubelet": "running", "kschedweb.io/kubelet-since": "2030-01-01T00:00:00Z"},
     Agent(AgentState.RUNNING)),
    ("no times", {"kschedweb.io/kubelet": "stopped"}, Agent(AgentState.STOPPED)),
    ("both times",
     {"kschedweb.io/kubelet": "off", "kschedweb.io/kubelet-since": "2030-01-01T00:00:00.5Z",
      "kschedweb.io/kubelet-until": "2030-01-01T01:00:05+01:00"},
     Agent(AgentState.OFF, START + 500_000, START + 5_000_000)),
    ("a time without a zone",
     {"kschedweb.io/kubelet": "partitioned", "kschedweb.io/kubelet-since": "2030-01-01T00:00:00"},
     Agent(AgentState.PARTITIONED)),
)  # fmt: skip
def test_annotations_say_how_the_kubelet_is(annotations: dict[str, str], want: Agent) -> None:
    node = make_node("n").annotation(annotations).build()
    assert agent_of(node) == want
    assert agent_of(node).is_heard == (want.state == "running")
