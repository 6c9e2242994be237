"""JSON kept as text: for columns that are written often, read whole and never searched.

As `json` a value takes about half the room it takes as `jsonb`, and PostgreSQL only checks it.
"""

from typing import Any

from django.db import models


class CompactJSONField(models.JSONField):
    """A JSONField in a `json` column."""

    def db_type(self, connection: Any) -> str:
        return "json"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value  # psycopg has read it; Django turns that off for jsonb only
