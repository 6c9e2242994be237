"""Host ports in use: per (ip, protocol, port) the rows that hold it.

Source: kubernetes v1.34.1, pkg/scheduler/framework (HostPortInfo): 0.0.0.0 takes and wants every address.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from scheduler_core.api.resources import HostPort
from scheduler_core.model.node_info import ANY_IP
from scheduler_core.table.growth import BoolArray, grown

_NO_PORTS: frozenset[HostPort] = frozenset()


class PortIndex:
    """Only ports some node uses are indexed; ports by (protocol, port), then by ip."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._n_rows = 0
        self._of_row: dict[int, frozenset[HostPort]] = {}
        self._holders: dict[tuple[str, int], dict[str, BoolArray]] = {}
        self._counts: dict[HostPort, int] = {}

    def write(self, row: int, ports: AbstractSet[HostPort]) -> None:
        """The row now uses exactly these ports."""
        old = self._of_row.get(row, _NO_PORTS)
        if ports == old:
            return
        new = frozenset(ports)
        for port in old - new:
            self._drop(row, port)
        for port in new - old:
            self._hold(row, port)
        if new:
            self._of_row[row] = new
        else:
            del self._of_row[row]

    def conflicting(self, wanted: Sequence[HostPort]) -> BoolArray | None:
        """Rows on which a wanted port is taken, shape (n_rows,); None when there is no such row."""
        conflicts: BoolArray | None = None
        for ip, protocol, port in wanted:
            by_ip = self._holders.get((protocol, port))
            if by_ip is None:
                continue
            for used_ip, rows in by_ip.items():
                if ip in (used_ip, ANY_IP) or used_ip == ANY_IP:
                    conflicts = rows[: self._n_rows].copy() if conflicts is None else conflicts
                    conflicts |= rows[: self._n_rows]
        return conflicts

    def resize(self, capacity: int) -> None:
        self._capacity = capacity
        for by_ip in self._holders.values():
            for ip, rows in by_ip.items():
                by_ip[ip] = grown(rows, capacity)

    def show(self, n_rows: int) -> None:
        self._n_rows = n_rows

    def _hold(self, row: int, host_port: HostPort) -> None:
        ip, protocol, port = host_port
        by_ip = self._holders.setdefault((protocol, port), {})
        if ip not in by_ip:
            by_ip[ip] = np.zeros(self._capacity, dtype=np.bool_)
        by_ip[ip][row] = True
        self._counts[host_port] = self._counts.get(host_port, 0) + 1

    def _drop(self, row: int, host_port: HostPort) -> None:
        ip, protocol, port = host_port
        by_ip = self._holders[protocol, port]
        by_ip[ip][row] = False
        self._counts[host_port] -= 1
        if self._counts[host_port] == 0:
            del self._counts[host_port], by_ip[ip]
            if not by_ip:
                del self._holders[protocol, port]
