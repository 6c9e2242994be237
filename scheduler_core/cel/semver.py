"""Versions as semver.org has them: 1.2.3-rc.1+build.

Source: github.com/blang/semver v4 (Parse, Compare), and kubernetes v1.34.1, apiserver/pkg/cel/library/semverlib.go.
"""

from __future__ import annotations

import json
import string
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

_DIGITS: Final = frozenset(string.digits)
_NAMES: Final = frozenset(string.ascii_letters + string.digits + "-")
_MAX_NUMBER: Final = 2**64 - 1


class SemverError(ValueError):
    """Why a text is no version, in the words of the Go library."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A version; `build` does not count when two are compared."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._rank() == other._rank()

    def __lt__(self, other: Semver) -> bool:
        return self._rank() < other._rank()

    def __hash__(self) -> int:
        return hash(self._rank())

    def _rank(self) -> tuple[object, ...]:
        """Numbers come before names, and a version before release before the release."""
        parts = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.prerelease)
        return self.major, self.minor, self.patch, not parts, parts


def parse(text: str) -> Semver:
    """SemverError for any other text."""
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major", "Major")
    minor = _number(parts[1], "minor", "Minor")
    patch, prerelease, build = parts[2], "", ""
    has_build, has_prerelease = "+" in patch, False
    if has_build:
        patch, _, build = patch.partition("+")
    if "-" in patch:
        has_prerelease = True
        patch, _, prerelease = patch.partition("-")
    number = _number(patch, "patch", "Patch")
    before = tuple(map(_prerelease, prerelease.split("."))) if has_prerelease else ()
    return Semver(major, minor, number, before, tuple(map(_build, build.split("."))) if has_build else ())


def parse_tolerant(text: str) -> Semver:
    """Take `v1.2` and `01.2.3` too."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped and stripped[0] in _DIGITS else "0" + stripped
    if len(parts) < 3:
        if any(sign in parts[-1] for sign in "+-"):
            raise SemverError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _number(text: str, name: str, title: str) -> int:
    if not set(text) <= _DIGITS:
        raise SemverError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise SemverError(f"{title} number must not contain leading zeroes {quoted(text)}")
    return _uint(text)


def _uint(text: str) -> int:
    """Leading zeros are refused before."""
    if not text:
        raise SemverError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _MAX_NUMBER:
        raise SemverError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise SemverError("Prerelease is empty")
    if set(text) <= _DIGITS:
        if len(text) > 1 and text[0] == "0":
            raise SemverError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return _uint(text)
    if not set(text) <= _NAMES:
        raise SemverError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise SemverError("Build meta data is empty")
    if not set(text) <= _NAMES:
        raise SemverError(f"Invalid character(s) found in build meta data {quoted(text)}")
    return text


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
