"""What cells of several kinds are made of: ages, names, labels.

Source: kubernetes v1.34.1, pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

Manifest = Mapping[str, Any]
Cells = list[Any]
# Columns as text (see `tables`), and the cells of an object below them; ages are counted to a time in microseconds.
Printed = tuple[str, Callable[[Manifest, int], Cells]]
NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


def age(text: str | None, now: int) -> str:
    """The time since a moment as kubectl writes it: `5s`, `2m3s`, `3d4h`; unknown without one."""
    if not text:
        return UNKNOWN
    return duration(int(now / 1_000_000 - datetime.fromisoformat(text).timestamp()))


def duration(seconds: int) -> str:
    """A duration in at most two units, the second only where it matters."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days, years = seconds // 60, seconds // 3600, seconds // 86400, seconds // 31536000
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _pair(years, "y", days % 365, "d")
    return f"{years}y"


def _pair(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def part(manifest: Manifest, name: str) -> Manifest:
    return manifest.get(name) or {}


def name_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def age_of(manifest: Manifest, now: int) -> str:
    return age(manifest["metadata"].get("creationTimestamp"), now)


def is_going(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


def created(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), manifest["metadata"].get("creationTimestamp")]


def aged(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), age_of(manifest, now)]


def pairs(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE
