"""JSON documents. Depth and the number of values are counted in the text, before anything is built of it."""

from collections.abc import Iterator
from typing import Any

import orjson

from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError
from scheduler_core.api.json_shape import json_shape


def read(file: str, content: bytes, limits: Limits) -> Iterator[tuple[Place, Any]]:
    """The one document of a JSON file, or the UnreadableError that says why it is none; UploadTooLargeError."""
    place = Place(file, document=1)
    shape = json_shape(content)
    if shape.depth > limits.depth:
        raise UploadTooLargeError(place, f"is nested more than {limits.depth} deep", limit=limits.depth)
    if shape.values > limits.values:
        raise UploadTooLargeError(place, f"has more than {limits.values:,} values", limit=limits.values)
    try:
        yield place, orjson.loads(content)
    except orjson.JSONDecodeError as error:
        place = Place(file, document=1, line=error.lineno)
        yield place, UnreadableError(place, f"is not sound JSON: {error}")
