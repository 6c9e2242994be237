"""Whether the simulated kubelet of a node is at work, as annotations of the node say.

    running       it acts and is heard of; the default
    stopped       the kubelet stands still, its containers run on; nothing is heard of it
    partitioned   kubelet and containers work, but nothing reaches the API server, nor they anything from there
    off           the machine is off: its containers are gone, and start anew when it is back

A program from outside may be the kubelet of a node: the node says so from its second sign of life on, and none of the
above concerns it.

Anybody may write them: the dashboard, REST and `kubectl annotate` mean the same. A time that is missing or cannot be
read counts as not given.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from scheduler_core.api.node import Node
from scheduler_core.api.times import microseconds

KUBELET: Final = "kschedweb.io/kubelet"  # an AgentState
KUBELET_SINCE: Final = "kschedweb.io/kubelet-since"  # RFC 3339: the last heartbeat
# How it was before it came back, until that is done: the AgentState, a blank, the last heartbeat. Controllers write it.
KUBELET_WAS: Final = "kschedweb.io/kubelet-was"
KUBELET_UNTIL: Final = "kschedweb.io/kubelet-until"  # RFC 3339: when it comes back by itself
# By what the kubelet of the node, a program from outside, is heard: `lease` or `status`. The node controller writes it.
HEARTBEAT: Final = "kschedweb.io/heartbeat"
NODE_LEASES: Final = "kube-node-lease"  # the namespace of the kubelets' leases


class AgentState(StrEnum):
    """How the kubelet of a node is."""

    RUNNING = "running"
    STOPPED = "stopped"
    PARTITIONED = "partitioned"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Agent:
    """The kubelet of a node; times are microseconds, None when they are not given."""

    state: AgentState
    since: int | None = None
    until: int | None = None

    @property
    def is_heard(self) -> bool:
        """True when it sends heartbeats and statuses, and is told of changes."""
        return self.state == AgentState.RUNNING


def was_away(node: Node) -> Agent | None:
    """Return how the kubelet was that is away, or is back and has not caught up; None when it has."""
    told = node.annotations.get(KUBELET_WAS)
    if told is None:
        return None
    state, _, since = told.partition(" ")
    return Agent(_STATES.get(state, AgentState.STOPPED), time_of(since))


def has_outside_agent(node: Node) -> bool:
    """True when a program from outside is the kubelet of the node."""
    return HEARTBEAT in node.annotations


_RUNNING: Final = Agent(AgentState.RUNNING)
_STATES: Final = {state.value: state for state in AgentState}


def agent_of(node: Node) -> Agent:
    """Return how the node's kubelet is; a state that is not known counts as running."""
    state = _STATES.get(node.annotations.get(KUBELET, ""), AgentState.RUNNING)
    if state == AgentState.RUNNING:
        return _RUNNING
    return Agent(
        state, time_of(node.annotations.get(KUBELET_SINCE, "")), time_of(node.annotations.get(KUBELET_UNTIL, ""))
    )


def time_of(text: str) -> int | None:
    """Return the RFC 3339 time in microseconds; None when it cannot be read or names no time zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return microseconds(time) if time.tzinfo is not None else None
