"""YAML documents as kubectl reads them: what JSON can say, plain scalars as in YAML 1.1, timestamps left as text.

Built from the parser's events, one by one: so depth, the number of values and what aliases repeat are bounded while
reading, an alias into itself is refused, and a duplicate key is an error with its line. A plain scalar is a number
only where Go reads one; anything else that looks like one is text (`2024-13-45`, `0x_`, `100m`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml.reader import ReaderError

from scheduler_core.api.places import Found, Place, Places, below
from scheduler_core.api.yaml_scalars import plain_scalar
from scheduler_core.errors import YamlError

_SHOWN: Final = 40  # characters of a stranger's text in a message
# The parser compares each with all before it, and nothing stops it meanwhile.
_TAG_DIRECTIVE: Final = b"%TAG"
_MOST_TAG_DIRECTIVES: Final = 100
_CORE_TAG = "tag:yaml.org,2002:"
_SEPARATOR = re.compile(rb"^(?:\xef\xbb\xbf)?---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_TEXT_TAGS = frozenset({"!", f"{_CORE_TAG}str", f"{_CORE_TAG}timestamp"})
_SCALAR_TAGS = frozenset(f"{_CORE_TAG}{name}" for name in ("null", "bool", "int", "float"))
_COLLECTION_TAGS = frozenset({None, "!", f"{_CORE_TAG}map", f"{_CORE_TAG}seq"})


@dataclass(frozen=True, slots=True)
class YamlBounds:
    """How deep and how large the documents of a text may be; `alias_values`: how many values aliases may repeat."""

    depth: int
    values: int
    alias_values: int


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
    is_merging: bool = False  # the pending key is `<<`
    merged: set[str] = field(default_factory=set)  # keys that came by `<<` alone


def read_documents(content: bytes, bounds: YamlBounds, *, places: Places | None = None) -> Iterator[tuple[int, Any]]:
    """The documents of a UTF-8 text with their numbers from 1 on, None for an empty one; YamlError.

    `places` is filled with where everything stands in the last document; a key that stands twice is no error then,
    the last value counts.
    """
    for number, value in each_document(content, bounds, places=places):
        if isinstance(value, YamlError):
            raise value
        yield number, value


def each_document(content: bytes, bounds: YamlBounds, *, places: Places | None = None) -> Iterator[tuple[int, Any]]:
    """As `read_documents`, but in place of a document that cannot be read stands its YamlError.

    What follows the next line that begins with `---` is read all the same, unless a bound was met.
    """
    if content.count(_TAG_DIRECTIVE) > _MOST_TAG_DIRECTIVES:
        yield 1, YamlError(f"has more than {_MOST_TAG_DIRECTIVES} tag directives", document=1)
        return
    reader = _Reader(bounds) if places is None else _PlacingReader(bounds, places)
    for line, part in _parts(content):
        for number, value in reader.read(part, line):
            yield number, value
            if isinstance(value, YamlError) and value.limit:
                return


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(line, text) of what stands between lines that begin with `---`; directives go with the document they are for."""
    start, line = 0, 1
    for separator in _SEPARATOR.finditer(content):
        end = _directives(content, start, separator.start())
        if end > start:
            yield line, content[start:end]
            line += content.count(b"\n", start, end)
            start = end
    yield line, content[start:]


def _directives(content: bytes, start: int, end: int) -> int:
    """Where the directives before a separator begin, which stands at `end`; comments may stand between them."""
    found = at = end
    while at > start:
        at = max(start, content.rfind(b"\n", start, at - 1) + 1)
        if content[at : at + 1] not in (b"%", b"#", b"\r", b"\n"):
            break
        if content[at : at + 1] == b"%":
            found = at
    return found


class _Reader:
    """Turns events into values; one for a text, since the counts are for the text."""

    def __init__(self, bounds: YamlBounds) -> None:
        self._bounds = bounds
        self._parser: Any = None
        self._first_line = 1  # of the part that is read
        self._values = 0
        self._repeated = 0
        self._anchors: dict[str, _Anchored] = {}
        self._open: list[_Open] = []
        self._root: Any = None
        self._documents = 0

    def read(self, part: bytes, line: int) -> list[tuple[int, Any]]:
        """The documents of a part that begins at a line; the last one may be what is wrong."""
        found: list[tuple[int, Any]] = []
        before = self._documents
        self._first_line = line
        self._reset()
        self._parser = yaml.CSafeLoader(part)
        try:
            while (document := self._next_document()) is not None:
                found.append(document)
            return found
        except YamlError as error:
            problem = error
        except yaml.YAMLError as error:
            self._documents = max(self._documents, before + 1)
            problem = self._unsound(error, part)
        finally:
            self._parser.dispose()
        # A document ends before what cannot stand behind it is found: both are one.
        return [each for each in found if each[0] != problem.document] + [(problem.document, problem)]

    def _reset(self) -> None:
        """Forget what is open: the part before ended in the middle of it."""
        self._open.clear()

    def _next_document(self) -> tuple[int, Any] | None:
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
            elif isinstance(event, yaml.DocumentEndEvent):
                return self._documents, self._root
            elif isinstance(event, yaml.StreamEndEvent):
                return None

    def _unsound(self, error: yaml.YAMLError, part: bytes) -> YamlError:
        """What the parser says; of a character that may not stand in YAML it knows only where in the text."""
        line, detail = 0, " ".join(str(error).split())
        if isinstance(error, yaml.MarkedYAMLError):
            detail = str(error.problem or error.context)
            line = self._first_line + error.problem_mark.line if error.problem_mark else 0
        elif isinstance(error, ReaderError):
            line = self._first_line + part.count(b"\n", 0, error.position)
            detail = f"{error.reason} (#x{error.character:04x})"
        return YamlError(f"is not sound YAML: {detail}", document=self._documents, line=line)

    def _line(self, event: Any) -> int:
        line: int = self._first_line + event.start_mark.line
        return line

    def _error(self, event: Any, detail: str, *, limit: int = 0, key: str | None = None) -> YamlError:
        return YamlError(detail, document=self._documents, line=self._line(event), limit=limit, key=key)

    def _count(self, event: Any, values: int) -> None:
        self._values += values
        limit = self._bounds.values
        if self._values > limit:
            raise self._error(event, f"has more than {limit:,} values", limit=limit)

    def _start(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise self._error(event, f"the tag {event.tag[:_SHOWN]} has no meaning here")
        if self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None:
            raise self._error(event, "a key must be text, not a list or an object")
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
            name = event.anchor[:_SHOWN]
            raise self._error(event, f"the alias *{name} names no finished anchor before it")
        self._repeated += found.values
        limit = self._bounds.alias_values
        if self._repeated > limit:
            raise self._error(event, f"aliases repeat more than {limit:,} values", limit=limit)
        self._count(event, found.values)
        self._check_depth(event, len(self._open) + found.depth)
        self._add(event, found.value, found.depth)

    def _check_depth(self, event: Any, depth: int) -> None:
        limit = self._bounds.depth
        if depth > limit:
            raise self._error(event, f"is nested more than {limit} deep", limit=limit)

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
            top.key, top.is_merging = _key_text(value), _is_merge(event)
            if top.key is None:
                raise self._error(event, "a key must be text, not a list or an object")
            if top.key in top.value and top.key not in top.merged and not top.is_merging:
                raise self._error(event, f"the key {top.key[:_SHOWN]!r} stands twice in one object", key=top.key)
        elif top.is_merging:
            self._merge(event, top, value)
        else:
            top.value[top.key] = value
            top.merged.discard(top.key)
            top.key = None

    def _merge(self, event: Any, top: _Open, value: Any) -> None:
        """Take the keys of the objects that `<<` names; of several objects the first one counts."""
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in several):
            raise self._error(event, "<< merges an object or a list of objects")
        for each in reversed(several):
            top.merged |= each.keys() - top.value.keys()
            top.value |= each
        top.key, top.is_merging = None, False

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        tag = event.tag
        if tag is None:
            return self._resolved(event) if event.implicit[0] else text
        if tag in _TEXT_TAGS:
            return text
        if tag in _SCALAR_TAGS:
            return self._resolved(event)
        raise self._error(event, f"the tag {tag[:_SHOWN]} has no meaning here")

    def _resolved(self, event: Any) -> Any:
        try:
            return plain_scalar(event.value)
        except ValueError as error:
            raise self._error(event, str(error)) from None


class _PlacingReader(_Reader):
    """A reader that notes where everything stands."""

    def __init__(self, bounds: YamlBounds, places: Places) -> None:
        super().__init__(bounds)
        self._found = places
        self._filling: list[Place] = []  # one for each open collection
        self._key_lines: list[int] = []  # of their pending keys
        self._finished: Place | None = None  # of the collection that is about to be added
        self._repeatable: dict[str, Place | None] = {}

    def _reset(self) -> None:
        super()._reset()
        self._filling.clear()
        self._key_lines.clear()
        self._finished = None

    def _start(self, event: Any) -> None:
        super()._start(event)
        self._filling.append(Place(self._line(event)))
        self._key_lines.append(0)

    def _end(self, event: Any) -> None:
        self._finished = self._filling.pop()
        self._key_lines.pop()
        super()._end(event)

    def _alias(self, event: Any) -> None:
        place = self._repeatable.get(event.anchor)
        self._finished = Place(self._line(event), place.below) if place is not None else None
        super()._alias(event)

    def _anchor(self, name: str | None, node: _Anchored) -> None:
        super()._anchor(name, node)
        if name is not None:
            self._repeatable[name] = self._finished

    def _add(self, event: Any, value: Any, depth: int) -> None:
        line = self._line(event)
        place, self._finished = self._finished or Place(line), None
        if not self._open:
            self._found.root = place
        else:
            top, around = self._open[-1], self._filling[-1]
            if isinstance(top.value, list):
                around.below[len(top.value)] = place
            elif top.key is not None:
                place.line = self._key_lines[-1]
                around.below |= place.below if top.is_merging else {top.key: place}
            else:
                self._key_lines[-1] = line
                key = _key_text(value)
                if key is not None and key in top.value and key not in top.merged:
                    self._found.duplicates.append(Found(self._path(key), line, key))
                    top.key = key
                    return
        super()._add(event, value, depth)

    def _path(self, key: str) -> str:
        """The path of a key of the collection being filled."""
        path = ""
        for outer in self._open[:-1]:
            path = below(path, len(outer.value) if isinstance(outer.value, list) else outer.key or "")
        return below(path, key)


def _is_merge(event: Any) -> bool:
    """Whether a key is the plain scalar `<<`."""
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and bool(event.implicit[0])


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
