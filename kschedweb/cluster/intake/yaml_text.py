"""YAML documents as kubectl reads them: what JSON can say, plain scalars as in YAML 1.1, timestamps left as text.

Built from the parser's events, one by one: so depth, the number of values and what aliases repeat are bounded while
reading, an alias into itself is refused, and a duplicate key is an error with its line.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<ten>0|[1-9][0-9_]*)|0x(?P<hex>[0-9a-fA-F_]+)|0b(?P<two>[01_]+)|0o?(?P<eight>[0-7_]+))"
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"ten": 10, "hex": 16, "two": 2, "eight": 8}
_LONGEST_NUMBER = 250  # longer ones, in base 16, fit no float
_CORE_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", f"{_CORE_TAG}str", f"{_CORE_TAG}timestamp"})
_SCALAR_TAGS = frozenset(f"{_CORE_TAG}{name}" for name in ("null", "bool", "int", "float"))
_COLLECTION_TAGS = frozenset({None, "!", f"{_CORE_TAG}map", f"{_CORE_TAG}seq"})


@dataclass(slots=True)
class _Anchored:
    """A finished node that aliases may repeat: how many values it holds and how deep it is."""

    value: Any
    values: int
    depth: int


@dataclass(slots=True)
class _Open:
    """A collection being filled; `key` is the pending key of a mapping."""

    value: Any
    anchor: str | None
    started_at: int  # values counted before it
    depth: int = 1  # of what is inside, itself included
    key: str | None = None


def read(file: str, content: bytes, limits: Limits) -> Iterator[tuple[Place, Any]]:
    """The documents of a YAML file with their numbers; empty ones are counted and left out."""
    parser = yaml.CSafeLoader(content)
    reader = _Reader(parser, file, limits)
    try:
        while True:
            document = reader.next_document()
            if document is None:
                return
            place, value = document
            if value is not None:
                yield place, value
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise UnreadableError(
            Place(file, document=reader.number, line=line), f"is not sound YAML: {error.problem or error.context}"
        ) from None
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise UnreadableError(Place(file, document=reader.number), f"is not sound YAML: {text}") from None
    finally:
        parser.dispose()


class _Reader:
    """Turns events into values; one for a file, since the counts are for the file."""

    def __init__(self, parser: Any, file: str, limits: Limits) -> None:
        self.number = 1
        self._parser = parser
        self._file = file
        self._limits = limits
        self._values = 0
        self._repeated = 0
        self._anchors: dict[str, _Anchored] = {}
        self._open: list[_Open] = []
        self._root: Any = None
        self._documents = 0

    def next_document(self) -> tuple[Place, Any] | None:
        self._anchors.clear()
        self._root = None
        while True:
            event = self._parser.get_event()
            if isinstance(event, yaml.ScalarEvent):
                self._count(event, 1)
                value = self._scalar(event)
                self._anchor(event.anchor, _Anchored(value, 1, 0))
                self._add(event, value, 0)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._start(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._end(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                self.number = self._documents
            elif isinstance(event, yaml.DocumentEndEvent):
                return Place(self._file, document=self.number), self._root
            elif isinstance(event, yaml.StreamEndEvent):
                return None

    def _place(self, event: Any) -> Place:
        return Place(self._file, document=self.number, line=event.start_mark.line + 1)

    def _count(self, event: Any, values: int) -> None:
        self._values += values
        if self._values > self._limits.values:
            raise UploadTooLargeError(
                self._place(event), f"has more than {self._limits.values:,} values", limit=self._limits.values
            )

    def _start(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise UnreadableError(self._place(event), f"the tag {event.tag} has no meaning here")
        if self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None:
            raise UnreadableError(self._place(event), "a key must be text, not a list or an object")
        self._check_depth(event, len(self._open) + 1)
        is_map = isinstance(event, yaml.MappingStartEvent)
        self._open.append(_Open({} if is_map else [], event.anchor, self._values))
        self._count(event, 1)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        self._anchor(done.anchor, _Anchored(done.value, self._values - done.started_at, done.depth))
        self._add(event, done.value, done.depth)

    def _alias(self, event: Any) -> None:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise UnreadableError(self._place(event), f"the alias *{event.anchor} names no finished anchor before it")
        self._repeated += found.values
        if self._repeated > self._limits.alias_values:
            raise UploadTooLargeError(
                self._place(event),
                f"aliases repeat more than {self._limits.alias_values:,} values",
                limit=self._limits.alias_values,
            )
        self._count(event, found.values)
        self._check_depth(event, len(self._open) + found.depth)
        self._add(event, found.value, found.depth)

    def _check_depth(self, event: Any, depth: int) -> None:
        if depth > self._limits.depth:
            raise UploadTooLargeError(
                self._place(event), f"is nested more than {self._limits.depth} deep", limit=self._limits.depth
            )

    def _anchor(self, name: str | None, node: _Anchored) -> None:
        if name is not None:
            self._anchors[name] = node

    def _add(self, event: Any, value: Any, depth: int) -> None:
        if not self._open:
            self._root = value
            return
        top = self._open[-1]
        top.depth = max(top.depth, depth + 1)
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            top.key = _key_text(value)
            if top.key is None:
                raise UnreadableError(self._place(event), "a key must be text, not a list or an object")
            if top.key in top.value:
                raise UnreadableError(self._place(event), f"the key {top.key!r} stands twice in one object")
        else:
            top.value[top.key] = value
            top.key = None

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        tag = event.tag
        if tag is None:
            return _resolve(text, self._place, event) if event.implicit[0] else text
        if tag in _TEXT_TAGS:
            return text
        if tag in _SCALAR_TAGS:
            return _resolve(text, self._place, event)
        raise UnreadableError(self._place(event), f"the tag {tag} has no meaning here")


def _resolve(text: str, place: Any, event: Any) -> Any:
    """What a plain scalar says."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text[0] not in "+-.0123456789":
        return text
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        if len(text) > _LONGEST_NUMBER:
            raise UnreadableError(place(event), f"a number of {len(text)} digits is too long")
        number = _integer(integer)
        return number if -(2**63) <= number < 2**64 else float(number)
    if _FLOAT.fullmatch(text):
        value = float(text.replace("_", ""))
        if math.isfinite(value):
            return value
    if _NOT_FINITE.fullmatch(text):
        raise UnreadableError(place(event), f"{text} is no number that JSON knows")
    return text


def _integer(match: re.Match[str]) -> int:
    name = match.lastgroup or "ten"
    digits = match[name].replace("_", "")
    number = int(digits, _BASES[name]) if digits else 0
    return -number if match["sign"] == "-" else number


def _key_text(value: Any) -> str | None:
    """A key as JSON writes it: kubectl turns numbers and truth values into text."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return None
