"""`Binder.find` asked of all rows at once; equal to asking node by node.

Each claim takes its volumes in one order, the smallest first, and every row that still wants one and can reach it gets
it. Arrays have shape (n_rows,); `took` holds, for one claim, the number of the volume each row took, −1 for none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scheduler_core.api.selectors import LabelSelectorMatcher
from scheduler_core.api.storage import PersistentVolumeClaim, StorageClass
from scheduler_core.api.volumes import SELECTED_NODE
from scheduler_core.framework.answers import RowVerdicts
from scheduler_core.framework.storage_lister import ObjectMissingError
from scheduler_core.model.status import Status
from scheduler_core.plugins.helpers import BoolArray
from scheduler_core.plugins.volume_binding.binder import Binder, by_size, can_provision, candidates_of, status_of
from scheduler_core.plugins.volume_binding.claims import BindingError, PodClaims
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.selection import rows_accepted

Took = npt.NDArray[np.int64]
NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING = 1, 2, 4, 8
_NUM_FLAGS = 16


def judge_rows(binder: Binder, claims: PodClaims, table: NodeTable) -> RowVerdicts | None:
    """Verdicts for all rows; None when every row passes."""
    judge = _Judge(binder, table)
    judge.check_bound(claims)
    judge.place_delayed(claims)
    return judge.verdicts()


class _Judge:
    def __init__(self, binder: Binder, table: NodeTable) -> None:
        self._binder = binder
        self._table = table
        self._flags: npt.NDArray[np.uint16] = np.zeros(table.n_rows, dtype=np.uint16)
        self._errors: list[Status] = []

    def verdicts(self) -> RowVerdicts | None:
        """The 15 combinations of flags have their statuses first, errors follow; an error is a row's last word."""
        if not self._flags.any():
            return None
        combined = [
            status_of(bool(flags & 1), bool(flags & 2), bool(flags & 4), bool(flags & 8))
            for flags in range(1, _NUM_FLAGS)
        ]
        return RowVerdicts(self._flags, (*combined, *self._errors))

    def check_bound(self, claims: PodClaims) -> None:
        """A row's first volume that is missing or out of reach counts."""
        open_rows = self._all()
        for claim in claims.bound:
            try:
                volume = self._binder.cache.volume(claim.spec.volume_name)
            except ObjectMissingError:
                self._flags[open_rows] |= VOLUME_MISSING
                return
            reached = self._binder.reach.rows_bound(volume, self._table)
            if reached is not None:
                self._flags[open_rows & ~reached] |= NODE_CONFLICT
                open_rows &= reached

    def place_delayed(self, claims: PodClaims) -> None:
        """Match or provision the claims that are not bound."""
        open_rows = self._all()
        wanting: list[PersistentVolumeClaim] = []
        to_provision: list[tuple[PersistentVolumeClaim, BoolArray]] = []
        for claim in claims.delayed:
            selected = claim.annotations.get(SELECTED_NODE)
            if selected is None:
                wanting.append(claim)
                continue
            elsewhere = open_rows.copy()
            row = self._table.row_of.get(selected)
            if row is not None:
                elsewhere[row] = False
            self._flags[elsewhere] |= BIND_CONFLICT
            open_rows &= ~elsewhere
            to_provision.append((claim, open_rows))  # the array itself: rows closed later on are done with
        taken: list[Took] = []
        numbers: dict[str, int] = {}
        for claim in by_size(wanting):
            try:
                took = self._match(claim, claims, open_rows, taken, numbers)
            except BindingError as error:
                self._fail(open_rows, error)
                return
            taken.append(took)
            to_provision.append((claim, took < 0))
        for claim, rows in to_provision:
            self._provision(claim, open_rows, rows)

    def _match(
        self,
        claim: PersistentVolumeClaim,
        claims: PodClaims,
        open_rows: BoolArray,
        taken: list[Took],
        numbers: dict[str, int],
    ) -> Took:
        took: Took = np.full(self._table.n_rows, -1, dtype=np.int64)
        looking = open_rows.copy()
        num_looking = int(np.count_nonzero(looking))
        for_claim, others = candidates_of(claim, claims)
        for place, volume in enumerate([*for_claim, *others]):
            if not num_looking:
                break
            number = numbers.setdefault(volume.name, len(numbers))
            reached = self._binder.reach.places(volume, self._table)
            if place >= len(for_claim) and reached is not None:
                got = reached[looking[reached]]
                for earlier in taken:
                    got = got[earlier[got] != number]
                took[got] = number
                looking[got] = False
                num_looking -= len(got)
                continue
            free = looking
            for earlier in taken:
                free = free & (earlier != number)
            if reached is None:
                took[free] = number
            else:
                took[reached[free[reached]]] = number
            # One set aside for the claim is used or nothing is.
            looking = looking & ~free
            num_looking = int(np.count_nonzero(looking))
        return took

    def _provision(self, claim: PersistentVolumeClaim, open_rows: BoolArray, wanted: BoolArray) -> None:
        """Rows that cannot make the claim's volume are closed."""
        rows = open_rows & wanted
        if not rows.any():
            return
        try:
            storage_class = self._binder.class_to_provision(claim)
        except BindingError as error:
            self._fail(rows, error)
            open_rows &= ~rows
            return
        refused = rows & ~self._rows_allowed(storage_class)
        self._flags[refused] |= BIND_CONFLICT
        open_rows &= ~refused
        topologies = self._binder.topologies_with_room(claim, storage_class)
        if topologies is not None:
            full = rows & ~refused & ~self._rows_in(topologies)
            self._flags[full] |= NOT_ENOUGH_SPACE
            open_rows &= ~full

    def _rows_allowed(self, storage_class: StorageClass) -> BoolArray:
        """Rows on which the class makes volumes."""
        if not can_provision(storage_class):
            return self._none()
        if not storage_class.allowed_topologies:
            return self._all()
        allowed = self._none()
        for term in storage_class.allowed_topologies:
            expressions = term.match_label_expressions or ()
            if not expressions:
                continue
            matching = self._all()
            for expression in expressions:
                matching &= self._table.label(expression.key).holds_any(expression.values)
            allowed |= matching
        return allowed

    def _rows_in(self, topologies: list[LabelSelectorMatcher]) -> BoolArray:
        """Rows that any of the selectors picks."""
        picked = self._none()
        for selector in topologies:
            matching = self._all()
            for requirement in selector.requirements:
                matching &= rows_accepted(self._table, requirement)
            picked |= matching
        return picked

    def _fail(self, rows: BoolArray, error: BindingError) -> None:
        self._errors.append(Status.failed(str(error)))
        self._flags[rows] = _NUM_FLAGS - 1 + len(self._errors)

    def _all(self) -> BoolArray:
        return np.ones(self._table.n_rows, dtype=np.bool_)

    def _none(self) -> BoolArray:
        return np.zeros(self._table.n_rows, dtype=np.bool_)
