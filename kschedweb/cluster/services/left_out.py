"""Objects of an upload that are left out, by kind and version: why, and what people are told of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kschedweb.cluster import adapters
from kschedweb.cluster.adapters import LeftOut

MOST_PLACES = 20  # of each kind

WHY = {
    LeftOut.UNKNOWN_VERSION: "version not read",
    LeftOut.UNKNOWN_KIND: "unknown kind",
    LeftOut.CONFIGURATION: "configuration of a program",
    LeftOut.NOT_READ: "not read by the scheduler",
    LeftOut.CONFIDENTIAL: "never imported",
}


@dataclass(frozen=True, slots=True)
class LeftOutKind:
    """How many objects of a kind and version are left out, and why; `read_as`: the version to write, if any.

    `at` says where the first ones stand in the upload.
    """

    api_version: str
    kind: str
    count: int
    reason: LeftOut
    read_as: str
    at: list[str] = field(default_factory=list)


def kinds(
    counts: Mapping[tuple[str, str], int], places: Mapping[tuple[str, str], Sequence[str]] | None = None
) -> list[LeftOutKind]:
    """What is left out, by kind and version; `counts` and `places` are by version and kind."""
    at = places or {}
    return [_of(*key, counts[key], list(at.get(key, ()))) for key in sorted(counts, key=lambda key: key[::-1])]


def sentences(left: Iterable[LeftOutKind]) -> list[str]:
    """For each reason the kinds that are left out for it."""
    told: dict[str, list[str]] = {why: [] for why in WHY.values()}
    for one in left:
        told[WHY[one.reason]].append(_told(one))
    return [f"{why}: {', '.join(names)}" for why, names in told.items() if names]


def _of(api_version: str, kind: str, count: int, at: list[str]) -> LeftOutKind:
    reason = adapters.why_left_out(api_version, kind) or LeftOut.UNKNOWN_KIND
    read_as = adapters.version_of(kind) if reason is LeftOut.UNKNOWN_VERSION else ""
    return LeftOutKind(api_version, kind, count, reason, read_as, at)


def _told(one: LeftOutKind) -> str:
    shown = one.kind if one.reason in (LeftOut.NOT_READ, LeftOut.CONFIDENTIAL) else f"{one.api_version} {one.kind}"
    return f"{shown} ({one.count:,}{f'; write {one.read_as}' if one.read_as else ''})"
