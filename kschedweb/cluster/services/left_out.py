"""Objects of an upload that are left out, by kind and version: why, and what people are told of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kschedweb.cluster import adapters
from kschedweb.cluster.adapters import LeftOut

WHY = {
    LeftOut.UNKNOWN_VERSION: "version not read",
    LeftOut.UNKNOWN_KIND: "unknown kind",
    LeftOut.NOT_READ: "not read by the scheduler",
    LeftOut.CONFIDENTIAL: "never imported",
}


@dataclass(frozen=True, slots=True)
class LeftOutKind:
    """How many objects of a kind and version are left out, and why; `read_as`: the version to write, if any."""

    api_version: str
    kind: str
    count: int
    reason: LeftOut
    read_as: str


def kinds(counts: Mapping[tuple[str, str], int]) -> list[LeftOutKind]:
    """What is left out, by kind and version; `counts` is by version and kind."""
    return [_of(*key, counts[key]) for key in sorted(counts, key=lambda key: key[::-1])]


def sentences(left: Iterable[LeftOutKind]) -> list[str]:
    """For each reason the kinds that are left out for it."""
    told: dict[str, list[str]] = {why: [] for why in WHY.values()}
    for one in left:
        told[WHY[one.reason]].append(_told(one))
    return [f"{why}: {', '.join(names)}" for why, names in told.items() if names]


def _of(api_version: str, kind: str, count: int) -> LeftOutKind:
    reason = adapters.why_left_out(api_version, kind) or LeftOut.UNKNOWN_KIND
    read_as = adapters.version_of(kind) if reason is LeftOut.UNKNOWN_VERSION else ""
    return LeftOutKind(api_version, kind, count, reason, read_as)


def _told(one: LeftOutKind) -> str:
    shown = one.kind if one.reason in (LeftOut.NOT_READ, LeftOut.CONFIDENTIAL) else f"{one.api_version} {one.kind}"
    return f"{shown} ({one.count:,}{f'; write {one.read_as}' if one.read_as else ''})"
