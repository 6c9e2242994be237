"""How deep and how large a JSON text is, counted in its bytes before anything is built of it.

One pass in time and memory proportional to the text, whatever is wrong with it: nesting costs no recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

# Possessive, and content with an open end: one pass over the text whatever is wrong with it.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b"[]{},"))
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1
_PIECE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class JsonShape:
    """`values`: lists, objects, their fields and items, which is what a parser allocates for."""

    depth: int
    values: int


def json_shape(text: bytes) -> JsonShape:
    """The shape of a text that need not be sound JSON."""
    bare = _STRINGS.sub(b"", text).translate(None, _NOT_STRUCTURE)
    values = len(bare) - bare.count(b"]") - bare.count(b"}")
    return JsonShape(_depth(bare.translate(None, b",")), values)


def _depth(brackets: bytes) -> int:
    """The deepest nesting of a text of nothing but brackets."""
    deepest = level = 0
    for start in range(0, len(brackets), _PIECE):
        count = min(_PIECE, len(brackets) - start)
        levels = np.cumsum(_STEPS[np.frombuffer(brackets, np.uint8, count, start)], dtype=np.int64)
        deepest = max(deepest, level + int(levels.max()))
        level += int(levels[-1])
    return deepest
