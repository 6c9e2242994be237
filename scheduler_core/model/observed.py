"""What is seen of one cycle beyond what its attempt keeps: of every node, whether the walk came to it or not.

Plain values; nothing here reaches a decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from scheduler_core.model.amounts import Amounts
from scheduler_core.model.effects import ScoreRows
from scheduler_core.model.status import Status


class DomainCounts(msgspec.Struct, frozen=True):
    """The pods (or weights of pods, for `preferred`) that one rule of a plugin counts in each domain of a label.

    `rule`: spread, softSpread, near, apart, keptApart or preferred; `subject`: the label's key and which pods count;
    `most`: how many a domain may have for the pod to fit in, where the rule refuses by number.
    """

    plugin: str
    rule: str
    key: str
    subject: str
    domains: Mapping[str, int]
    most: int | None = None


class Trial(msgspec.Struct, frozen=True):
    """A node tried for victims: their keys, the most important first, or the status that says why there are none."""

    victims: tuple[str, ...] = ()
    num_pdb_violations: int = 0
    status: Status | None = None


class ObservedNode(msgspec.Struct, frozen=True):
    """One node; `place` is its index in the node order.

    `status`: what kept the pod from it, Success where nothing does; `filters`: every filter that takes part, each asked
    by itself, those behind the first refusal as well; `amounts`: None where nobody tells of them; `trial`: None where
    evicting pods is no help.
    """

    place: int
    name: str
    labels: Mapping[str, str]
    looked_at: bool
    status: Status
    filters: tuple[tuple[str, Status], ...] = ()
    amounts: tuple[Amounts, ...] | None = None
    trial: Trial | None = None


class Observation(msgspec.Struct, frozen=True):
    """A cycle, up to the choice of a node.

    `statuses`: of every node, in node order; `order`: all places in the order of the walk, the first `looked_at` of
    them those it came to; `nodes`: the ones that were asked for, of `found` in all. `scores`: of the nodes at
    `feasible`, as the decision compared them, None where it compared none; `all_scores`: of the nodes at `fitting`, as
    if the walk had looked at every node. Both without what extenders add.
    """

    statuses: Sequence[Status]
    order: Sequence[int]
    looked_at: int
    found: int
    nodes: Sequence[ObservedNode]
    feasible: Sequence[int]
    fitting: Sequence[int]
    scores: ScoreRows | None
    all_scores: ScoreRows | None
    counts: Sequence[DomainCounts]
