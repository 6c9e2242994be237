"""YAML documents of a file, with the place of whatever is wrong."""

from collections.abc import Iterator
from typing import Any

from kschedweb.cluster.intake.files import TEMPLATE_MARK
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError
from scheduler_core.api.yaml_text import YamlBounds, each_document
from scheduler_core.errors import YamlError

_OF_TEMPLATES = "; the file has {{, as templates do: import what comes of it, as of helm template"


def read(file: str, content: bytes, limits: Limits) -> Iterator[tuple[Place, Any]]:
    """The documents of a YAML file with their numbers, an UnreadableError in place of one that cannot be read.

    Empty ones are counted and left out; UploadTooLargeError.
    """
    bounds = YamlBounds(limits.depth, limits.values, limits.alias_values)
    hint = _OF_TEMPLATES if TEMPLATE_MARK in content else ""
    for number, value in each_document(content, bounds):
        if isinstance(value, YamlError):
            place = Place(file, document=number, line=value.line)
            if value.limit:
                raise UploadTooLargeError(place, value.detail, limit=value.limit)
            yield place, UnreadableError(place, value.detail + hint)
        elif value is not None:
            yield Place(file, document=number), value
