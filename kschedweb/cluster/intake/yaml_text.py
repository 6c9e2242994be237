"""YAML documents of a file, with the place of whatever is wrong."""

from collections.abc import Iterator
from typing import Any

from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.errors import YamlError


def read(file: str, content: bytes, limits: Limits) -> Iterator[tuple[Place, Any]]:
    """The documents of a YAML file with their numbers; empty ones are counted and left out."""
    bounds = YamlBounds(limits.depth, limits.values, limits.alias_values)
    try:
        for number, value in read_documents(content, bounds):
            if value is not None:
                yield Place(file, document=number), value
    except YamlError as error:
        place = Place(file, document=error.document, line=error.line)
        if error.limit:
            raise UploadTooLargeError(place, error.detail, limit=error.limit) from None
        raise UnreadableError(place, error.detail) from None
