"""Objects of a kind that a cluster defines as kubectl shows them: in the columns of their definition.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scheduler_core.api.schema.moments import in_utc
from scheduler_core.apiserver.custom import json_path
from scheduler_core.apiserver.custom.definitions import Version
from scheduler_core.apiserver.ownership.checking import go_text
from scheduler_core.apiserver.printing.texts import age
from scheduler_core.apiserver.replies import Table

_NAME: Final = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def custom_table(version: Version, items: Sequence[Mapping[str, Any]], now: int) -> Table:
    """The table of these objects, as clients see them; ages are counted to `now`, in microseconds."""
    columns = version.columns or (_AGE,)
    told = [
        {
            "name": column["name"], "type": column["type"], "format": column.get("format", ""),
            "description": column.get("description") or _describes(column), "priority": column.get("priority", 0),
        }
        for column in columns
    ]  # fmt: skip
    rows = [[item["metadata"]["name"], *(_cell(item, column, now) for column in columns)] for item in items]
    return Table([dict(_NAME), *told], rows)


def _describes(column: Mapping[str, Any]) -> str:
    return "" if column is _AGE else f"Custom resource definition column (in JSONPath format): {column['jsonPath']}"


def _cell(item: Mapping[str, Any], column: Mapping[str, Any], now: int) -> Any:
    try:
        values = json_path.found(item, column["jsonPath"])
    except json_path.PathError:
        return None
    if not values:
        return None
    value, kind = values[0], column["type"]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "string":
        return _text(value)
    if kind == "integer":
        return int(value) if is_number else None
    if kind == "number":
        return float(value) if is_number else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    return _age(value, now) if kind == "date" and isinstance(value, str) else None


def _text(value: Any) -> str:
    """The value as kubectl's templates print it."""
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return "" if value is None else go_text(value)


def _age(text: str, now: int) -> str:
    if not text:
        return age("", now)
    try:
        return age(in_utc(text, digits=0), now)
    except ValueError:
        return "<invalid>"
