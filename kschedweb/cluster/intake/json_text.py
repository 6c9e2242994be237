"""JSON documents. Depth and the number of values are counted in the text, before anything is built of it."""

import re
from typing import Any

import numpy as np
import orjson

from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError

# Possessive, and content with an open end: one pass over the text whatever is wrong with it.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1


def read(file: str, content: bytes, limits: Limits) -> Any:
    """The one document of a JSON file."""
    place = Place(file, document=1)
    bare = _STRINGS.sub(b"", content).translate(None, _NOT_STRUCTURE)
    depth = _depth(bare.translate(None, b","))
    if depth > limits.depth:
        raise UploadTooLargeError(place, f"is nested more than {limits.depth} deep", limit=limits.depth)
    values = len(bare) - bare.count(b"]") - bare.count(b"}")
    if values > limits.values:
        raise UploadTooLargeError(place, f"has more than {limits.values:,} values", limit=limits.values)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(place, f"is not sound JSON: {error}") from None


def _depth(brackets: bytes) -> int:
    """The deepest nesting of a text of nothing but brackets."""
    deepest = level = 0
    for start in range(0, len(brackets), 1 << 22):
        steps = _STEPS[np.frombuffer(brackets, dtype=np.uint8, count=min(1 << 22, len(brackets) - start), offset=start)]
        levels = np.cumsum(steps, dtype=np.int64)
        deepest = max(deepest, level + int(levels.max()))
        level += int(levels[-1])
    return deepest
