"""The pods of each row by importance, as arrays: rank 0 is the most important pod of its row.

Rows are read when they are first asked for and again after they changed, so clusters without preemption pay nothing.
A pod without a start time stands behind all that have one: it counts as started now. Rows of which arrays cannot tell
everything are `odd`: those with very many pods, or with requests no node could meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api.derived import start_time_us
from scheduler_core.api.pod import Pod
from scheduler_core.model.types import PodInfo, Resource
from scheduler_core.table.growth import BoolArray, Int32Array, Int64Array
from scheduler_core.table.node_table import NodeTable

NOBODY = 2**62  # the priority at ranks a row has no pod for
NOT_STARTED = 2**62  # the start of pods that have not started
MAX_PODS = 128
MAX_AMOUNT = 2**53  # of one request: sums over a row stay exact

_SPARE_NUMBERS = 4096  # numbers given out beside four for every pod there is, before numbering starts again

_Column = tuple[int, int, int, int, int]  # minus priority, start, place on the node, request, labels
PodLabels = tuple[str, Mapping[str, str]]
"""A pod's namespace and labels."""


class RowPods:
    """At (rank, row): `priorities`, `starts` int64; `requests`, `labels` int32; `pods` objects. By row: `odd`,
    `has_unstarted` bool, `latest_start` int64 (of the pods that started; 0 where none did).

    `requests` and `labels` number distinct values, 0 for nobody: `amounts[:, number]` is a request by resource index of
    the table, `labels_of[number]` namespace and labels. `epoch` grows when the numbering starts again.
    """

    priorities: Int64Array
    starts: Int64Array
    requests: Int32Array
    labels: Int32Array
    pods: npt.NDArray[Any]
    amounts: Int64Array
    labels_of: list[PodLabels]
    odd: BoolArray
    has_unstarted: BoolArray
    latest_start: Int64Array

    _table: NodeTable
    _version: int
    _known: BoolArray
    _requests: dict[tuple[Any, ...], int]
    _n_requests: int
    _by_identity: dict[int, tuple[Resource, int]]
    _labels: dict[tuple[Any, ...], int]

    def __init__(self, table: NodeTable) -> None:
        self.epoch = 0
        self._with_labels = False
        self._start(table)

    def follow(self, table: NodeTable, *, with_labels: bool) -> None:
        """Forget the rows that changed. `labels` are only filled in once they were asked for."""
        needs_labels = with_labels and not self._with_labels
        if table is not self._table or needs_labels or self._gave_out_too_many(table):
            self._with_labels |= with_labels
            self._start(table)
        if len(table) > len(self._known):
            self._resize(len(self.priorities), 2 * len(table))
        n_resources = len(table.resources.index_of)
        if n_resources > len(self.amounts):
            self.amounts = _enlarged(self.amounts, (n_resources, self.amounts.shape[1]))
        self._known[table.rows_changed_since(self._version)] = False
        self._version = table.version

    def read(self, rows: npt.NDArray[np.intp]) -> None:
        """Take in those of the rows that are not known."""
        table, unknown = self._table, rows[~self._known[rows]]
        if not len(unknown):
            return
        held = [info.pods if (info := table.node_infos[row]) is not None else [] for row in unknown.tolist()]
        longest = max(map(len, held))
        if len(self.priorities) < longest <= MAX_PODS:
            self._resize(min(max(longest, 2 * len(self.priorities)), MAX_PODS), len(self._known))
        self._known[unknown] = True
        self.odd[unknown] = self.has_unstarted[unknown] = False
        self.latest_start[unknown] = 0
        self.priorities[:, unknown] = NOBODY
        self.pods[:, unknown] = None
        ranks: list[int] = []
        places: list[int] = []
        columns: list[_Column] = []
        pods: list[Pod] = []
        for row, infos in zip(unknown.tolist(), held, strict=True):
            if len(infos) > MAX_PODS:
                self.odd[row] = True
                continue
            order = [self._column(info, at) for at, info in enumerate(infos)]
            order.sort()
            ranks += range(len(order))
            places += [row] * len(order)
            columns += order
            pods += [infos[column[2]].pod for column in order]
        if not columns:
            return
        values = np.array(columns, dtype=np.int64).T
        self.priorities[ranks, places] = -values[0]
        self.starts[ranks, places] = values[1]
        self.requests[ranks, places] = np.maximum(values[3], 0)
        self.labels[ranks, places] = values[4]
        self.pods[ranks, places] = pods
        there, started = np.array(places), values[1] != NOT_STARTED
        self.odd[there[values[3] < 0]] = True
        self.has_unstarted[there[~started]] = True
        np.maximum.at(self.latest_start, there[started], values[1][started])

    def _column(self, info: PodInfo, at: int) -> _Column:
        pod, labels = info.pod, 0
        if self._with_labels and pod.labels:  # no budget counts a pod without labels
            labels = self._number_labels(pod)
        return -pod.priority, start_time_us(pod, NOT_STARTED), at, self._number_request(info.request), labels

    def amounts_of(self, request: Resource) -> Int64Array | None:
        """A request by resource index of the table; None when it is beyond what arrays can add up."""
        number = self._number_request(request)
        return self.amounts[:, number] if number >= 0 else None

    def _add_up(self, request: Resource) -> Int64Array | None:
        index_of = self._table.resources.index_of
        amounts = np.zeros(len(self.amounts), dtype=np.int64)
        for name, amount in request.items():
            if not 0 <= amount <= MAX_AMOUNT:
                return None
            if amount:
                if name not in index_of:
                    return None
                amounts[index_of[name]] = amount
        return amounts

    def _number_request(self, request: Resource) -> int:
        """Its number, -1 where arrays cannot tell. Equivalent pods mostly share the object, which is never changed."""
        known = self._by_identity.get(id(request))
        if known is not None:
            return known[1]
        key = tuple(request.items())
        number = self._requests.get(key)
        if number is None:
            amounts = self._add_up(request)
            number = self._requests[key] = -1 if amounts is None else self._add_request(amounts)
        self._by_identity[id(request)] = request, number
        return number

    def _add_request(self, amounts: Int64Array) -> int:
        number, self._n_requests = self._n_requests, self._n_requests + 1
        n_resources, capacity = self.amounts.shape
        if number >= capacity:
            self.amounts = _enlarged(self.amounts, (n_resources, 2 * capacity))
        self.amounts[:, number] = amounts
        return number

    def _number_labels(self, pod: Pod) -> int:
        key = (pod.namespace, *sorted(pod.labels.items()))
        number = self._labels.get(key)
        if number is None:
            number = self._labels[key] = len(self.labels_of)
            self.labels_of.append((pod.namespace, pod.labels))
        return number

    def _gave_out_too_many(self, table: NodeTable) -> bool:
        given_out = len(self._requests) + len(self._by_identity) + len(self._labels)
        return given_out > _SPARE_NUMBERS and given_out > _SPARE_NUMBERS + 4 * int(table.resources.pod_count.sum())

    def _start(self, table: NodeTable) -> None:
        self._table = table
        self._version = table.version
        self.epoch += 1
        self._by_identity = {}
        self._requests = {}
        self._n_requests = 1
        self.amounts = np.zeros((len(table.resources.index_of), 64), dtype=np.int64)
        self._labels = {}
        self.labels_of = [("", {})]
        self._known = np.zeros(0, dtype=np.bool_)
        self.odd = self.has_unstarted = self._known
        self.latest_start = np.zeros(0, dtype=np.int64)
        self.priorities = self.starts = np.zeros((0, 0), dtype=np.int64)
        self.requests = self.labels = np.zeros((0, 0), dtype=np.int32)
        self.pods = np.zeros((0, 0), dtype=np.object_)
        self._resize(4, len(table))

    def _resize(self, n_ranks: int, n_rows: int) -> None:
        self._known, self.odd, self.has_unstarted, self.latest_start = (
            _enlarged(array, (n_rows,)) for array in (self._known, self.odd, self.has_unstarted, self.latest_start)
        )
        shape = n_ranks, n_rows
        self.priorities = _enlarged(self.priorities, shape, NOBODY)
        self.starts = _enlarged(self.starts, shape)
        self.requests = _enlarged(self.requests, shape)
        self.labels = _enlarged(self.labels, shape)
        self.pods = _enlarged(self.pods, shape, None)


def _enlarged(array: npt.NDArray[Any], shape: tuple[int, ...], fill: int | None = 0) -> npt.NDArray[Any]:
    """Copy the values into the corner of a larger array, `fill` elsewhere."""
    larger = np.full(shape, fill, dtype=array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger
