"""Every field of every kind as data, and what follows from it: reading a manifest as the API server reads it."""

from scheduler_core.api.schema.problems import DecodeError, Reading
from scheduler_core.api.schema.reading import NESTED_KINDS, empty, read, read_part, without_empty_lists
from scheduler_core.api.schema.types import SCALARS, Field, Type, type_named, type_of
from scheduler_core.api.schema.writing import in_type_order, internal_diff, internal_text, json_text

__all__ = [
    "NESTED_KINDS",
    "SCALARS",
    "DecodeError",
    "Field",
    "Reading",
    "Type",
    "empty",
    "in_type_order",
    "internal_diff",
    "internal_text",
    "json_text",
    "read",
    "read_part",
    "type_named",
    "type_of",
    "without_empty_lists",
]
