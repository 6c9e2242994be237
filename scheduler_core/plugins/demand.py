"""What a pod asks of each resource that counts, held against what nodes offer.

Of every resource a node offers `a`, and with the pod `q` would be asked of it: whole units, cpu in milli units. Arrays
are int64 of shape (n_resources, len(rows)), exact while amounts stay below 2^56 (times 100 they must fit 63 bits).
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.resources import CPU, MEMORY, amount, is_scalar
from scheduler_core.framework.answers import Int64Array
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.resources import ResourceColumns

Rows = npt.NDArray[np.intp]  # the type numpy gathers by without converting each time


class WeightedResource(NamedTuple):
    """A resource that scores, and what the incoming pod asks of it."""

    name: str
    weight: int
    pod_request: int


class Usual(msgspec.Struct, frozen=True):
    """What is asked of cpu and memory, and their weights."""

    cpu: int
    memory: int
    cpu_weight: int
    memory_weight: int


class Demand:
    """The resources that score for a pod. Scalars the pod does not ask for do not.

    `usual`: the same where these are cpu and memory, as they nearly always are, for rules that take a short cut then.
    """

    __slots__ = ("_lines", "is_nothing", "resources", "usual")

    def __init__(self, resources: Iterable[tuple[str, int]], requests: ResourceList) -> None:
        """(name, weight) each, and what the pod requests; a resource it does not name counts 0."""
        weighed = (
            WeightedResource(name, weight, amount(name, requests[name]) if name in requests else 0)
            for name, weight in resources
        )
        self.resources = tuple(each for each in weighed if each.pod_request or not is_scalar(each.name))
        self.is_nothing = not any(each.pod_request for each in self.resources)
        self.usual: Usual | None = None
        if [each.name for each in self.resources] == [CPU, MEMORY]:
            (_, cpu_weight, cpu), (_, memory_weight, memory) = self.resources
            self.usual = Usual(cpu, memory, cpu_weight, memory_weight)
        self._lines: Lines | None = None

    def on_node(self, node_info: NodeInfo, *, non_zero: bool) -> list[tuple[int, int, int]]:
        """(a, q, weight) of what the node offers. `non_zero` counts defaults for containers without a value."""
        offered, used = node_info.allocatable, node_info.requested
        defaulted = {CPU: node_info.non_zero_milli_cpu, MEMORY: node_info.non_zero_memory} if non_zero else {}
        found = []
        for name, weight, request in self.resources:
            a = offered.amount_of(name)
            q = defaulted[name] if name in defaulted else used.amount_of(name)
            if a:
                found.append((a, q + request, weight))
        return found

    def on_rows(self, table: NodeTable, rows: Rows, *, non_zero: bool) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The weights of the resources that some node has named, (n_resources,), and their a and q."""
        columns = table.resources
        lines = self._lines
        if lines is None or not lines.are_of(columns):
            known = [each for each in self.resources if each.name in columns.index_of]
            lines = self._lines = Lines(columns, [(each.name, each.pod_request) for each in known])
            lines.weights = np.array([each.weight for each in known], dtype=np.int64)
        offered = columns.allocatable_at(lines.index, rows)
        if non_zero and lines.end <= len(columns.non_zero_requested):
            asked = columns.non_zero_requested_at(lines.index, rows)
        else:
            asked = columns.requested_at(lines.index, rows)
            for place, line in enumerate(lines.indices if non_zero else ()):
                if line < len(columns.non_zero_requested):
                    columns.non_zero_requested[line].take(rows, out=asked[place], mode="clip")
        asked += lines.requests
        return lines.weights, offered, asked


class Lines:
    """Where some resources stand in the columns, and what is asked of each."""

    __slots__ = ("_columns", "_num_known", "end", "index", "indices", "requests", "weights")

    def __init__(self, columns: ResourceColumns, wanted: Sequence[tuple[str, int]]) -> None:
        """`wanted`: names the columns know, and amounts of at most 63 bits."""
        self._columns, self._num_known = columns, len(columns.index_of)
        self.indices, self.index = columns.lines_of(tuple([name for name, _ in wanted]))
        self.end = max(self.indices, default=-1) + 1
        self.requests = np.array([[request] for _, request in wanted], dtype=np.int64).reshape(len(wanted), 1)
        self.weights: Int64Array = np.zeros(0, dtype=np.int64)

    def are_of(self, columns: ResourceColumns) -> bool:
        """Whether these columns are meant, and have learnt no name since."""
        return self._columns is columns and self._num_known == len(columns.index_of)
