"""JSON for columns that are written often, read whole and never searched.

As `json` a value takes about half the room it takes as `jsonb`, and PostgreSQL only checks it. Packed it takes a tenth,
of the log that every write goes through as well, and PostgreSQL does not look into it.
"""

from typing import Any

from django.db import models

from kschedweb.common import packing


class CompactJSONField(models.JSONField):
    """A JSONField in a `json` column."""

    def db_type(self, connection: Any) -> str:
        return "json"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value  # psycopg has read it; Django turns that off for jsonb only


class PackedJSONField(models.JSONField):
    """Objects of a cluster in a `bytea` column, see `packing`."""

    def db_type(self, connection: Any) -> str:
        return "bytea"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else packing.unpacked(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return None if value is None else packing.packed_object(value)
