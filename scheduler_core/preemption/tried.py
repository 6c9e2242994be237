"""What came of a dry run, whichever form it had: nodes tried in vain, candidates, and which of these is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.model.node_views import NodeCandidates, NodeNames, NodeStatuses
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.preemption.criteria import Candidate, best_of, values_of
from scheduler_core.preemption.trial import DryRun
from scheduler_core.table.growth import Int64Array


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate taken; `tied`: the equals it is the first of; `decided_by`: the criterion that left it alone."""

    best: Candidate
    tied: Sequence[str]
    decided_by: str


@dataclass(frozen=True, slots=True)
class Tried:
    """`candidates`: first those that violate no budget; `values`: their criteria, (n_criteria, n_candidates)."""

    refused: NodeStatuses
    candidates: NodeCandidates
    values: Int64Array

    def errors(self) -> list[str]:
        """What went wrong on nodes, each text once."""
        refused = self.refused
        if not any(status.code is Code.Error for status in refused.statuses):
            return []
        messages = (status.message for _, status in refused if status.code is Code.Error)
        return list(dict.fromkeys(messages))

    def all_candidates(self) -> list[Candidate]:
        found = self.candidates
        names = NodeNames(found.nodes, found.names)
        return [
            Candidate(name, victims, violations)
            for name, victims, violations in zip(names, found.victims, found.num_pdb_violations.tolist(), strict=True)
        ]

    def choose(self) -> Choice:
        """The best candidate; there is one at least."""
        places, decided_by = best_of(self.values)
        found, first = self.candidates, int(places[0])
        best = Candidate(
            found.names[int(found.nodes[first])], found.victims[first], int(found.num_pdb_violations[first])
        )
        return Choice(best, NodeNames(found.nodes[places], found.names) if len(places) > 1 else (), decided_by)


def choose(candidates: Sequence[Candidate], now: int) -> Choice:
    """The best of candidates that come from elsewhere."""
    places, decided_by = best_of(values_of(candidates, now))
    equals = [candidates[place] for place in places.tolist()]
    return Choice(equals[0], tuple(each.node_name for each in equals) if len(equals) > 1 else (), decided_by)


def tried_by_node(run: DryRun, potential: NodeNames, now: int) -> Tried:
    """The outcome of a trial node by node."""
    node_of = dict(zip(potential, potential.nodes.tolist(), strict=True))
    numbers: dict[Status, int] = {}
    codes = [numbers.setdefault(status, len(numbers)) for status in run.statuses.values()]
    candidates, names = run.candidates, potential.names
    return Tried(
        NodeStatuses(
            np.array([node_of[name] for name in run.statuses], dtype=np.int32),
            names,
            np.array(codes, dtype=np.int32),
            tuple(numbers),
        ),
        NodeCandidates(
            np.array([node_of[each.node_name] for each in candidates], dtype=np.int32),
            names,
            [each.victims for each in candidates],
            np.array([each.num_pdb_violations for each in candidates], dtype=np.int64),
        ),
        values_of(candidates, now),
    )


class TriedStatuses(NodeToStatus):
    """The statuses of nodes tried in vain, counted without being spelled out; others share `absent`."""

    __slots__ = ("_refused",)

    def __init__(self, refused: NodeStatuses, absent: Status) -> None:
        super().__init__(absent)
        self._refused = refused

    def __len__(self) -> int:
        return len(self._refused)

    def reason_counts(self) -> dict[str, int]:
        refused = self._refused
        counts: dict[str, int] = {}
        many = np.bincount(refused.codes, minlength=len(refused.statuses)).tolist()
        for status, times in zip(refused.statuses, many, strict=True):
            if times:
                for reason in status.reasons:
                    counts[reason] = counts.get(reason, 0) + times
        return counts
