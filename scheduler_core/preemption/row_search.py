"""The dry run over many nodes at once, where it is sure to say what the trial node by node says.

That is where of the filters at work only one looks at pods of a node, and only to add up their number and requests
(`HeadroomPlugin`); all others judge the node object. Then a row's outcome follows from sums over its pods: lower pods
are taken off all rows, and the k-th of each row put back in the k-th round. Outcomes are cached for equivalent pods
until the row changes; rows that arrays cannot tell, the odd ones, are tried node by node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.fast.headroom import FilterAtWork, filters_at_work
from scheduler_core.cycle.fast.refusals import FirstRefusals
from scheduler_core.framework.handle import ProfileRunner
from scheduler_core.framework.runtime import counts_against
from scheduler_core.lru import LruDict
from scheduler_core.model.node_views import NodeCandidates, NodeNames, NodeStatuses
from scheduler_core.model.status import Status
from scheduler_core.preemption.budgets import BudgetRows
from scheduler_core.preemption.criteria import CRITERIA, started_by, values_of, values_of_rows
from scheduler_core.preemption.row_pods import RowPods
from scheduler_core.preemption.trial import NO_VICTIMS, Question, select_victims_on_node
from scheduler_core.preemption.tried import Tried
from scheduler_core.table.growth import BoolArray, Int32Array, Int64Array
from scheduler_core.table.node_table import NodeTable

UNKNOWN, CLEAN, VIOLATING, REFUSED, ODD = range(5)  # outcomes of rows: the second and third are candidates

_MOST_STATUSES = 1024
_MAX_OUTCOMES = 16

Places = npt.NDArray[np.intp]


class Outcomes:
    """What is known of each row for pods with one signature. Arrays by row: `kinds`; `codes`, indices into
    `refusals.statuses` where refused; `values` of the criteria and `victims` of candidates."""

    def __init__(self) -> None:
        self._table: NodeTable | None = None
        self._version = 0
        self._budgets: BudgetRows | None = None
        self.forget()

    def forget(self) -> None:
        """Nothing is known, and no memory used."""
        self._table = None
        self.kinds: npt.NDArray[np.int8] = np.zeros(0, dtype=np.int8)
        self.codes: Int32Array = np.zeros(0, dtype=np.int32)
        self.values: Int64Array = np.zeros((len(CRITERIA), 0), dtype=np.int64)
        self.victims: npt.NDArray[Any] = np.zeros(0, dtype=np.object_)
        self.refusals = FirstRefusals.none(0)

    def follow(self, table: NodeTable, budgets: BudgetRows) -> None:
        """Forget the rows that changed; all candidates when the budgets did."""
        n_rows = len(table)
        if table is not self._table or n_rows > len(self.kinds) or len(self.refusals.statuses) > _MOST_STATUSES:
            self._table = table
            self.kinds = np.zeros(n_rows, dtype=np.int8)
            self.codes = np.zeros(n_rows, dtype=np.int32)
            self.values = np.zeros((len(CRITERIA), n_rows), dtype=np.int64)
            self.victims = np.empty(n_rows, dtype=np.object_)
            self.refusals = FirstRefusals.none(0)
        else:
            self.kinds[table.rows_changed_since(self._version)] = UNKNOWN
            if budgets is not self._budgets:
                self.kinds[(self.kinds == CLEAN) | (self.kinds == VIOLATING)] = UNKNOWN
        self._version = table.version
        self._budgets = budgets

    def refuse(self, rows: Places, status: Status) -> None:
        self.kinds[rows] = REFUSED
        self.codes[rows] = self.number_of(status) - 1

    def number_of(self, status: Status) -> int:
        return self.refusals.number_of(status)


class RowSearches:
    """The searches of one profile: what they share and what they leave to each other."""

    def __init__(self) -> None:
        self._pods: RowPods | None = None
        self._recent: LruDict[int, Outcomes] = LruDict(_MAX_OUTCOMES, dropped=Outcomes.forget)  # by id

    def begin(
        self, question: Question, runner: ProfileRunner, table: NodeTable, budgets: BudgetRows, equivalent: bool
    ) -> RowSearch | None:
        """None when all nodes are to be tried one by one. `equivalent`: the cycle's pod has the signature of the one
        asked for, so that outcomes may be cached with what is cached for it."""
        filters = filters_at_work(runner, question.state, question.pod)
        if filters is None:
            return None
        outcomes = question.state.cached(Outcomes, Outcomes) if equivalent else Outcomes()
        if self._recent.use(id(outcomes)) is None:
            self._recent[id(outcomes)] = outcomes
        outcomes.follow(table, budgets)
        if self._pods is None:
            self._pods = RowPods(table)
        self._pods.follow(table, with_labels=bool(question.budgets))
        return RowSearch(question, table, budgets, filters, self._pods, outcomes)


class RowSearch:
    """One search; `run` it once."""

    def __init__(
        self,
        question: Question,
        table: NodeTable,
        budgets: BudgetRows,
        filters: Sequence[FilterAtWork],
        pods: RowPods,
        outcomes: Outcomes,
    ) -> None:
        self._question = question
        self._table = table
        self._budgets = budgets
        self._filters = filters
        self._pods = pods
        self._outcomes = outcomes
        row_of = table.row_of
        rows = (row_of.get(name) for name in question.nominated.nominated_node_names())
        self._nominated = frozenset(row for row in rows if row is not None)
        self._taken: dict[int, Int64Array] = {}  # by row: what nominated pods take of it

    def run(self, potential: NodeNames, rows: Places, want: int) -> Tried:
        """Try the nodes, whose rows these are, until `want` candidates are found, one of them violating no budget."""
        outcomes, nominated = self._outcomes, np.array(sorted(self._nominated), dtype=np.intp)
        outcomes.kinds[nominated] = UNKNOWN
        passing: list[Places] = []  # rows whose outcome holds for this search only
        # A few more at once than are wanted: some rows will be no candidates.
        end, size, stop = 0, want + want // 4 + 1, None
        while stop is None and end < len(rows):
            start, end = end, min(end + size, len(rows))
            size *= 2
            part = rows[start:end]
            unknown = part[outcomes.kinds[part] == UNKNOWN]
            if len(unknown):
                self._judge(unknown)
            odd = np.flatnonzero(outcomes.kinds[part] == ODD)
            if len(odd):
                passing.append(part[odd])
            stop = _end_of_search(outcomes.kinds[rows[:end]], want)
            for place in (start + odd).tolist():
                if stop is not None and place >= stop:
                    break
                self._try_node(int(rows[place]))
                stop = _end_of_search(outcomes.kinds[rows[:end]], want)
        found = self._tried(potential, rows[: end if stop is None else stop], want)
        for part in (nominated, *passing):
            outcomes.kinds[part] = UNKNOWN
        return found

    def _tried(self, potential: NodeNames, rows: Places, want: int) -> Tried:
        outcomes, nodes, names = self._outcomes, potential.nodes, potential.names
        kinds = outcomes.kinds[rows]
        refused = np.flatnonzero(kinds == REFUSED)
        candidates = np.concatenate((np.flatnonzero(kinds == CLEAN)[:want], np.flatnonzero(kinds == VIOLATING)[:want]))
        there = rows[candidates]
        values = started_by(outcomes.values[:, there], self._question.now)
        return Tried(
            NodeStatuses(nodes[refused], names, outcomes.codes[rows[refused]], tuple(outcomes.refusals.statuses)),
            NodeCandidates(nodes[candidates], names, outcomes.victims[there], values[0]),
            values,
        )

    def _taken_by_nominated(self, row: int) -> Int64Array | None:
        """What pods nominated to the row take that count against this one, the first line counts pods; None: unclear.

        The pod has to fit both with them and without them: with them is harder.
        """
        pod, pods, name = self._question.pod, self._pods, self._table.names[row]
        taken = np.zeros(1 + len(pods.amounts), dtype=np.int64)
        for info in self._question.nominated.nominated_pods_for_node(name or ""):
            if counts_against(info.pod, pod):
                amounts = pods.amounts_of(info.request)
                if amounts is None:
                    return None
                taken[0] += 1
                taken[1:] += amounts
        return taken

    def _judge(self, rows: Places) -> None:
        """Work out the outcome of rows not known; it may be that they are odd."""
        pods, outcomes, question = self._pods, self._outcomes, self._question
        pods.read(rows)
        odd = pods.odd[rows] | (pods.has_unstarted[rows] & (pods.latest_start[rows] >= question.now))
        if self._nominated:
            for place, row in enumerate(rows.tolist()):
                if row in self._nominated:
                    taken = self._taken_by_nominated(row)
                    if taken is None:
                        odd[place] = True
                    else:
                        self._taken[row] = taken
        if odd.any():
            outcomes.kinds[rows[odd]] = ODD
            rows = rows[~odd]
        lower = pods.priorities[:, rows] < question.pod.priority
        anybody = lower.any(axis=0)
        if not anybody.all():
            outcomes.refuse(rows[~anybody], _NO_VICTIMS)
            rows, lower = rows[anybody], lower[:, anybody]
        if not len(rows):
            return
        ranks = np.flatnonzero(lower.any(axis=1))
        lower = lower[ranks]
        left = self._refuse_without_them(rows, ranks, lower)
        if left is None:
            outcomes.kinds[rows] = ODD
            return
        passed = np.flatnonzero(outcomes.kinds[rows] != REFUSED)
        if len(passed) < len(rows):
            rows, lower = rows[passed], lower[:, passed]
            left.free, left.taken = left.free[:, passed], left.taken[:, :, passed]
        if len(rows):
            self._choose_victims(rows, ranks, lower, left)

    def _refuse_without_them(self, rows: Places, ranks: Places, lower: BoolArray) -> _Left | None:
        """Remove all lower pods; refuse rows on which the pod does not fit even then. None: arrays cannot tell."""
        question, pods, outcomes, table = self._question, self._pods, self._outcomes, self._table
        state, pod = question.state, question.pod
        refusals = outcomes.refusals.with_rows(len(rows))
        left: _Left | None = None
        for index, (plugin, headroom_plugin) in enumerate(self._filters):
            if headroom_plugin is not None:
                headroom = headroom_plugin.headroom(state, pod, table, rows)
                if headroom is None:
                    return None
                numbers = np.where(lower, pods.requests[ranks[:, None], rows], 0)
                taken = np.empty((1 + len(headroom.resources), *lower.shape), dtype=np.int64)
                taken[0] = lower
                for line, resource in enumerate(headroom.resources, start=1):
                    taken[line] = pods.amounts[resource][numbers]
                free = headroom.left
                free += taken.sum(axis=1)
                if self._taken:
                    lines = [0, *(1 + resource for resource in headroom.resources)]
                    for place, row in enumerate(rows.tolist()):
                        if row in self._taken:
                            free[:, place] -= self._taken[row][lines]
                left = _Left(free, taken)
                verdicts = None
                if (free < 0).any():
                    verdicts = headroom_plugin.headroom_verdicts(state, pod, table, rows, free)
            else:
                verdicts = plugin.filter_nodes(state, pod, table, rows)
            if verdicts is not None:
                refusals.add(index, plugin.name, verdicts)
        refused = refusals.codes != 0
        outcomes.kinds[rows] = UNKNOWN
        outcomes.kinds[rows[refused]] = REFUSED
        outcomes.codes[rows[refused]] = refusals.codes[refused].astype(np.int32) - 1
        return left

    def _choose_victims(self, rows: Places, ranks: Places, lower: BoolArray, left: _Left) -> None:
        """Put pods back while they fit, those that would violate a budget first; the others are the victims."""
        pods, outcomes = self._pods, self._outcomes
        at = (ranks[:, None], rows)
        labels = np.where(lower, pods.labels[at], 0)
        violating = self._budgets.violating(labels, pods.pods[at], pods.labels_of, pods.epoch)
        victims = np.zeros(lower.shape, dtype=np.bool_)
        groups = [lower] if violating is None else [violating, lower & ~violating]
        for group in groups:
            for rank in np.flatnonzero(group.any(axis=1)).tolist():
                free = left.free - left.taken[:, rank]
                stays = (free >= 0).all(axis=0)
                stays &= group[rank]
                np.copyto(left.free, free, where=stays)
                victims[rank] |= group[rank] & ~stays
        someone = victims.any(axis=0)
        if not someone.all():  # the pod fits though nobody goes: an error of the node, which the trial words
            outcomes.kinds[rows[~someone]] = ODD
            rows, victims, lower = rows[someone], victims[:, someone], lower[:, someone]
            violating = None if violating is None else violating[:, someone]
            at = (ranks[:, None], rows)
            if not len(rows):
                return
        values = values_of_rows(victims, violating, pods.priorities[at], pods.starts[at])
        outcomes.values[:, rows] = values
        outcomes.kinds[rows] = np.where(values[0] > 0, VIOLATING, CLEAN)
        outcomes.victims[rows] = self._named(rows, at, victims)
        if violating is not None:
            mixed = violating.any(axis=0) & (lower & ~violating).any(axis=0) & (values[3] > 1)
            for place in np.flatnonzero(mixed).tolist():
                self._sort_again(int(rows[place]), ranks, victims[:, place], violating[:, place])

    def _named(self, rows: Places, at: tuple[Places, Places], victims: BoolArray) -> npt.NDArray[Any]:
        """The victims of each row as a tuple of pods, by importance."""
        in_turn = self._pods.pods[at].T[victims.T].tolist()
        named = np.empty(len(rows), dtype=np.object_)
        start = 0
        for place, end in enumerate(np.cumsum(victims.sum(axis=0)).tolist()):
            named[place] = tuple(in_turn[start:end])
            start = end
        return named

    def _sort_again(self, row: int, ranks: Places, victims: BoolArray, violating: BoolArray) -> None:
        """Of equally important victims those that violate a budget come first, as both groups are put together."""
        pods = self._pods
        chosen = [*ranks[victims & violating].tolist(), *ranks[victims & ~violating].tolist()]
        chosen.sort(key=lambda rank: (-pods.priorities[rank, row], pods.starts[rank, row]))
        self._outcomes.victims[row] = tuple(pods.pods[rank, row] for rank in chosen)

    def _try_node(self, row: int) -> None:
        """The outcome of an odd row, by trial."""
        outcomes, question = self._outcomes, self._question
        node_info = self._table.node_infos[row]
        assert node_info is not None  # only rows of nodes are searched
        found = select_victims_on_node(question, node_info.copy())
        if isinstance(found, Status):
            outcomes.kinds[row] = REFUSED
            outcomes.codes[row] = outcomes.number_of(found) - 1
            return
        outcomes.kinds[row] = VIOLATING if found.num_pdb_violations else CLEAN
        outcomes.values[:, row] = values_of([found], question.now)[:, 0]
        outcomes.victims[row] = found.victims


@dataclass(slots=True)
class _Left:
    """`free`: (1 + n_resources, n_rows), what is left with the pod on the row; `taken`: (1 + n_resources, n_ranks,
    n_rows), what each lower pod takes of it."""

    free: Int64Array
    taken: Int64Array


def _end_of_search(kinds: npt.NDArray[np.int8], want: int) -> int | None:
    """After how many rows there are enough candidates; None: not yet."""
    clean = np.cumsum(kinds == CLEAN)
    if not len(clean) or not clean[-1]:
        return None
    enough = (clean > 0) & (clean + np.cumsum(kinds == VIOLATING) >= want)
    place = int(enough.argmax())
    return place + 1 if enough[place] else None


_NO_VICTIMS = Status.unresolvable(NO_VICTIMS)
