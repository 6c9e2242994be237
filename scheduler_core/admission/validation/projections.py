"""What is checked of volumes that show files: of the pod's fields, and several sources as one.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid, required
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.environment import field_reference, resource_reference

_FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_SHORTEST, _LONGEST = 600, 1 << 32  # seconds that a token may live
_DOWNWARD_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip


def mode_problems(path: str, mode: int | None) -> Iterator[Problem]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, _FILE_MODE)


def key_path_problems(path: str, items: Any) -> Iterator[Problem]:
    for index, item in enumerate(items):
        yield from _key_path(f"{path}[{index}]", item)


def _key_path(path: str, item: Manifest) -> Iterator[Problem]:
    if not item["key"]:
        yield required(f"{path}.key")
    yield from _relative(f"{path}.path", item["path"])
    yield from mode_problems(f"{path}.mode", item.get("mode"))


def _relative(path: str, value: str) -> Iterator[Problem]:
    if not value:
        yield required(path)
        return
    yield from formats.descending_path(path, value)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def downward_problems(path: str, source: Manifest) -> Iterator[Problem]:
    yield from mode_problems(f"{path}.defaultMode", source.get("defaultMode"))
    # Problems of items stand at the source itself.
    for item in source.get("items", ()):
        yield from _downward_item(path, item)


def _downward_item(path: str, item: Manifest) -> Iterator[Problem]:
    yield from _relative(f"{path}.path", item["path"])
    if "fieldRef" in item:
        yield from field_reference(f"{path}.fieldRef", item["fieldRef"], _DOWNWARD_FIELDS)
        if "resourceFieldRef" in item:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif "resourceFieldRef" in item:
        yield from resource_reference(f"{path}.resourceFieldRef", item["resourceFieldRef"], needs_container=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from mode_problems(f"{path}.mode", item.get("mode"))


def projected_problems(path: str, source: Manifest) -> Iterator[Problem]:
    yield from mode_problems(f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, one in enumerate(source["sources"] or ()):
        at = f"{path}.sources[{index}]"
        for name in ("secret", "configMap"):
            if name in one:
                yield from _keys(path, f"{at}.{name}", one[name], taken)
        for item in one.get("downwardAPI", {}).get("items", ()):
            yield from _downward_item(f"{at}.downwardAPI", item)
            yield from _conflict(path, item["path"], item["path"], taken)
        if "serviceAccountToken" in one:
            yield from _token(path, f"{at}.serviceAccountToken", one["serviceAccountToken"])
        if len(one) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _keys(volume: str, path: str, part: Manifest, taken: set[str]) -> Iterator[Problem]:
    name = part.get("name", "")
    if not name:
        yield required(f"{path}.name")
    for index, item in enumerate(part.get("items", ())):
        yield from _key_path(f"{path}.items[{index}]", item)
        yield from _conflict(volume, item["path"], name, taken)


def _conflict(volume: str, place: str, shown: str, taken: set[str]) -> Iterator[Problem]:
    """Two files of one place; it is told of the volume."""
    if place in taken:
        yield invalid(volume, shown, "conflicting duplicate paths")
    if place:
        taken.add(place)


def _token(volume: str, path: str, part: Manifest) -> Iterator[Problem]:
    seconds = part.get("expirationSeconds", 3600)
    if seconds < _SHORTEST:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    yield from _relative(f"{volume}.path", part["path"])  # as the server has it: of the volume
