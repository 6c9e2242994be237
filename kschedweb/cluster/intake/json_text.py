"""JSON documents, one after another. Depth and the number of values are counted in the text before anything is built.

Documents follow each other as `kubectl cluster-info dump` and programs that log write them, in lines of their own or
not. One that is cut ends before the next line that begins with a bracket, for there the next one begins.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError
from scheduler_core.api.json_shape import json_shape

# Ends with its line, whatever is wrong with it: in JSON no text goes over lines.
_STRINGS = re.compile(rb'"(?:[^"\\\n]++|\\.)*+"?')
_BEGINS = re.compile(rb"^[{\[]", re.MULTILINE)
_BLANK = re.compile(rb"[ \t\r\n\x1e]*+")  # x1e: before each document of a JSON text sequence
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1
_MOST_CUT = 100  # each takes a look at all brackets


def read(file: str, content: bytes, limits: Limits) -> Iterator[tuple[Place, Any]]:
    """The documents with their numbers, an UnreadableError in place of one that cannot be read; UploadTooLargeError."""
    shape = json_shape(content)
    place = Place(file, document=1)
    if shape.values > limits.values:
        raise UploadTooLargeError(place, f"has more than {limits.values:,} values", limit=limits.values)
    if shape.depth <= limits.depth:
        try:
            yield place, orjson.loads(content)
            return
        except orjson.JSONDecodeError:
            pass  # there are several, or something is wrong
    line, counted = 1, 0
    for number, (start, end) in enumerate(_extents(content), 1):
        line, counted = line + content.count(b"\n", counted, start), start
        text = content[start:end]
        if json_shape(text).depth > limits.depth:
            place = Place(file, document=number)
            raise UploadTooLargeError(place, f"is nested more than {limits.depth} deep", limit=limits.depth)
        try:
            yield Place(file, document=number), orjson.loads(text)
        except orjson.JSONDecodeError as error:
            place = Place(file, document=number, line=line + error.lineno - 1)
            yield place, UnreadableError(place, f"is not sound JSON: {error.msg} (column {error.colno})")


def _extents(content: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of each document, and of each text between documents that is none."""
    brackets = _Brackets(content)
    end = cut = 0
    while (start := _after_blanks(content, end)) < len(content):
        end = brackets.end_of(start) if cut < _MOST_CUT else 0
        if not end:
            cut += 1
            begin = _BEGINS.search(content, start + 1) if cut < _MOST_CUT else None
            end = begin.start() if begin is not None else len(content)
        yield start, end


def _after_blanks(content: bytes, start: int) -> int:
    found = _BLANK.match(content, start)
    return found.end() if found is not None else start


class _Brackets:
    """All brackets of a text that stand in no string, and how deep what follows each is."""

    def __init__(self, content: bytes) -> None:
        bare = _STRINGS.sub(lambda found: b" " * len(found[0]), content)
        steps = _STEPS[np.frombuffer(bare, np.uint8)]
        self._at = np.flatnonzero(steps).astype(np.int64)
        self._levels = np.cumsum(steps[self._at], dtype=np.int64)
        self._closing: dict[int, np.ndarray[Any, np.dtype[np.int64]]] = {}

    def end_of(self, start: int) -> int:
        """Behind the bracket that closes the one at `start`; 0 where none stands there or it is never closed."""
        index = int(np.searchsorted(self._at, start))
        if index == len(self._at) or self._at[index] != start:
            return 0
        below = int(self._levels[index]) - 1
        if below not in self._closing:
            self._closing = {below: np.flatnonzero(self._levels == below)}
        closing = self._closing[below]
        place = int(np.searchsorted(closing, index, side="right"))
        return int(self._at[closing[place]]) + 1 if place < len(closing) else 0
