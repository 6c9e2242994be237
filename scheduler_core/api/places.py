"""Where the values of a text stand: the line of every field and item, for messages about what is wrong with them.

Asked only when something is: reading a text with its places takes longer than reading it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_ITEM: Final = re.compile(r"\[(?P<index>[0-9]{1,9})\]")

Key = str | int


@dataclass(slots=True)
class Place:
    """The line (from 1) of a field's name, or of an item's begin, and the places of what is in it."""

    line: int
    below: dict[Key, Place] = field(default_factory=dict)

    def find(self, path: str) -> tuple[int, bool]:
        """The line of `a.b[0].c` and whether it is there; of the nearest place above it otherwise."""
        place, rest = self, path
        while rest:
            step = place._step(rest)
            if step is None:
                return place.line, False
            key, taken = step
            place, rest = place.below[key], rest[taken:].removeprefix(".")
        return place.line, True

    def _step(self, rest: str) -> tuple[Key, int] | None:
        """The key that the path begins with, and its length in it: a name may have dots and brackets in it."""
        item = _ITEM.match(rest)
        if item is not None and int(item["index"]) in self.below:
            return int(item["index"]), item.end()
        names = [key for key in self.below if isinstance(key, str)]
        fitting = [
            name for name in names if rest.startswith(name) and rest[len(name) : len(name) + 1] in ("", ".", "[")
        ]
        if fitting:
            longest = max(fitting, key=len)
            return longest, len(longest)
        return next(((name, len(name) + 2) for name in names if rest.startswith(f"[{name}]")), None)


@dataclass(frozen=True, slots=True)
class Found:
    """Something in a text that no value tells of: a key that stands twice, or a number as it is written."""

    path: str
    line: int
    text: str


@dataclass(slots=True)
class Places:
    """Of one document: its root, keys that stand twice (their second line), and, of JSON, its numbers."""

    root: Place | None = None
    duplicates: list[Found] = field(default_factory=list)
    numbers: list[Found] = field(default_factory=list)


def below(path: str, key: Key) -> str:
    """The path of a field or an item."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


@dataclass(slots=True)
class _Open:
    place: Place
    path: str
    is_list: bool
    key: str | None = None  # of an object: the name whose value comes next
    key_line: int = 0
    items: int = 0


def json_places(text: str) -> Places:
    """The places of a JSON text that a parser has read before."""
    found = Places()
    stack: list[_Open] = []
    line, counted = 1, 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if token in ",:":
            continue
        if token in "}]":
            stack.pop()
            continue
        top = stack[-1] if stack else None
        if top is not None and not top.is_list and top.key is None:
            top.key, top.key_line = json.loads(token), line
            if top.key in top.place.below:
                found.duplicates.append(Found(below(top.path, top.key or ""), line, top.key or ""))
            continue
        place, path = _enter(found, top, line)
        if token in "{[":
            stack.append(_Open(place, path, is_list=token == "["))
        elif token[0] in "-0123456789NI":
            found.numbers.append(Found(path, line, token))
    return found


def _enter(found: Places, top: _Open | None, line: int) -> tuple[Place, str]:
    """The place of a value that begins, with its path; known from then on where it belongs."""
    if top is None:
        found.root = Place(line)
        return found.root, ""
    if top.is_list:
        place, key = Place(line), top.items
        top.items += 1
        top.place.below[key] = place
        return place, below(top.path, key)
    name = top.key or ""
    place = top.place.below[name] = Place(top.key_line)
    top.key = None
    return place, below(top.path, name)
