"""What is left of a node's memory, disks and processes, now and at worst over a span of time.

    memory.available              capacity less what the system and all pods use
    allocatableMemory.available   capacity less what is reserved, less what all pods use
    nodefs.available, inodesFree  main file system: logs and local volumes; images and writable layers too, unless
    imagefs.available, inodesFree the node has a file system of its own for those; else the same as nodefs
    pid.available                 the most process ids there may be, less those in use

Capacities are those of the node's status, and of its annotations `kschedweb.io/nodefs`, `.../imagefs` (bytes),
`.../nodefs-inodes`, `.../imagefs-inodes` and `.../max-pids`. What the system uses is in `.../system-memory`,
`.../system-ephemeral-storage`, `.../system-inodes` and `.../system-pids`, as `usage.parse_usage` reads it, since the
node was created. Amounts are bytes and whole units, times microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.quantity import parse
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.annotations import PREFIX
from scheduler_core.controllers.kubelet.configuration import (
    ALLOCATABLE_MEMORY,
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES,
    PID_AVAILABLE,
    KubeletConfig,
    Threshold,
)
from scheduler_core.controllers.kubelet.pod_usage import (
    INODES,
    LOGS,
    MEMORY,
    PIDS,
    VOLUMES,
    WRITABLE,
    Used,
    model_of,
)

SYSTEM: Final = f"{PREFIX}system-"
IMAGEFS: Final = f"{PREFIX}imagefs"
_NODEFS: Final = f"{PREFIX}nodefs"
_MAX_PIDS: Final = f"{PREFIX}max-pids"
_ABOUT_NODE: Final = (SYSTEM, IMAGEFS, _NODEFS, _MAX_PIDS)
DEFAULT_MAX_PIDS: Final = 32_768
_FARTHEST_US: Final = 365 * 86_400 * 1_000_000  # nobody looks farther ahead
BYTES_PER_INODE: Final = 16_384  # of a file system whose inodes nobody counted


class Observed(msgspec.Struct, frozen=True, gc=False):
    """How much of a signal is left, and of how much."""

    available: int
    capacity: int


class Signal(msgspec.Struct, frozen=True):
    """One signal: a capacity, what is always taken of it, and the models of what is used."""

    capacity: int
    taken: int
    used: tuple[Used, ...]

    def at(self, now: int) -> Observed:
        """Return what is left at that time."""
        left = self.capacity - self.taken - sum(one.at(now) for one in self.used)
        return Observed(max(0, left), self.capacity)

    def least(self, begin: int, end: int | None) -> int:
        """Return what is left at worst between both times; `end` None is for ever."""
        left = self.capacity - self.taken
        for one in self.used:
            until = None if end is None else end - one.started
            left -= one.model.bounds(begin - one.started, until)[1]
        return left


Signals = dict[str, Signal]


def is_described(node: Node) -> bool:
    """Return whether annotations say what the node has, or what its system uses."""
    annotations = node.metadata.annotations
    return annotations is not None and any(name.startswith(_ABOUT_NODE) for name in annotations)


def has_imagefs(node: Node) -> bool:
    """Return whether images and writable layers are on a file system of their own."""
    return _bytes(node, IMAGEFS) is not None


def signals_of(node: Node, config: KubeletConfig, pods: Iterable[Used]) -> Signals:
    """Return the signals that the node has, with what its pods use."""
    used = tuple(pods)
    by = {name: tuple(one for one in used if one.resource == name) for name in {one.resource for one in used}}
    system = {name: _system(node, name) for name in (MEMORY, WRITABLE, INODES, PIDS)}
    found: Signals = {}
    capacity = node.status.capacity or {}
    memory = capacity.get("memory")
    if memory is not None:
        whole = memory.value()
        found[MEMORY_AVAILABLE] = Signal(whole, 0, (*by.get(MEMORY, ()), *system[MEMORY]))
        reserved = config.reserved("memory")
        if reserved:
            found[ALLOCATABLE_MEMORY] = Signal(max(0, whole - reserved), 0, by.get(MEMORY, ()))
    found |= _file_systems(node, by, system)
    most = _bytes(node, _MAX_PIDS) or DEFAULT_MAX_PIDS
    found[PID_AVAILABLE] = Signal(most, 0, (*by.get(PIDS, ()), *system[PIDS]))
    return found


def _file_systems(node: Node, by: dict[str, tuple[Used, ...]], system: dict[str, tuple[Used, ...]]) -> Signals:
    storage = (node.status.capacity or {}).get("ephemeral-storage")
    main = _bytes(node, _NODEFS) or (storage.value() if storage is not None else 0)
    images = sum(image.size_bytes for image in node.status.images or ())
    local = (*by.get(LOGS, ()), *by.get(VOLUMES, ()), *system[WRITABLE])
    layers, inodes = by.get(WRITABLE, ()), by.get(INODES, ())
    found: Signals = {}
    own = _bytes(node, IMAGEFS)
    if main:
        main_inodes = _bytes(node, f"{_NODEFS}-inodes") or main // BYTES_PER_INODE
        if own is None:
            found[NODEFS_AVAILABLE] = found[IMAGEFS_AVAILABLE] = Signal(main, images, (*local, *layers))
            found[NODEFS_INODES] = found[IMAGEFS_INODES] = Signal(main_inodes, 0, (*inodes, *system[INODES]))
        else:
            found[NODEFS_AVAILABLE] = Signal(main, 0, local)
            found[NODEFS_INODES] = Signal(main_inodes, 0, system[INODES])
    if own is not None:
        found[IMAGEFS_AVAILABLE] = Signal(own, images, layers)
        found[IMAGEFS_INODES] = Signal(_bytes(node, f"{IMAGEFS}-inodes") or own // BYTES_PER_INODE, 0, inodes)
    return found


def is_met(threshold: Threshold, observed: Observed, *, with_reclaim: bool = False) -> bool:
    """Return whether less is left than the threshold wants; with its minimum reclaim, when it was met before."""
    return threshold.quantity(observed.capacity, with_reclaim=with_reclaim).value() > observed.available


def first_possible(signals: Signals, thresholds: Sequence[Threshold], begin: int, look_us: int) -> int | None:
    """Return the first look at which a threshold may be met, after `begin`; None when none ever is."""
    pairs = [(signals[one.signal], one.quantity(signals[one.signal].capacity).value()) for one in thresholds]
    return first_below(pairs, begin, look_us)


def first_below(pairs: Sequence[tuple[Signal, int]], begin: int, look_us: int) -> int | None:
    """Return the first look, after `begin`, at which less may be left of a signal than the amount beside it.

    Looks are made at multiples of `look_us`, in microseconds. What is returned may be too early, never too late.
    """

    def may(since: int, until: int | None) -> bool:
        return any(signal.least(since, until) < wanted for signal, wanted in pairs)

    if not may(begin, None):
        return None
    start = begin // look_us * look_us
    span = look_us
    while start < begin + _FARTHEST_US and not may(start, start + span):
        start += span
        span *= 2
    while span > look_us:
        span //= 2
        if not may(start, start + span):
            start += span
    return start + look_us


def _system(node: Node, resource: str) -> tuple[Used, ...]:
    text = node.annotations.get(f"{SYSTEM}{resource}")
    model = None if text is None else model_of(resource, text)
    if model is None:
        return ()
    created = node.metadata.creation_timestamp
    return (Used("", resource, model, 0 if created is None else microseconds(created)),)


def _bytes(node: Node, annotation: str) -> int | None:
    try:
        found = parse(node.annotations[annotation]).value() if annotation in node.annotations else 0
    except ValueError:
        return None
    return found if found > 0 else None
