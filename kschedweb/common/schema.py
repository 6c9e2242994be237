"""The OpenAPI schema: made once for each process, and what it says of every operation besides its own answers.

Views answer refusals through one handler (refusals.py), so their form is added here once for all operations.
"""

import threading
from typing import Any

from drf_spectacular.generators import SchemaGenerator

METHODS = ("get", "post", "put", "patch", "delete")
REFUSAL = {
    "type": "object",
    "description": "Why a request was refused. `code` is stable, `message` is for people.",
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "extra": {"type": "object", "additionalProperties": {}},
    },
    "required": ["code", "message", "extra"],
}


_lock = threading.Lock()  # the library fails when two threads make their first schema at once
_made: dict[str | None, dict[str, Any]] = {}


class Generator(SchemaGenerator):
    """Keeps the schema: it is the same for everybody, and takes a second to make."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        with _lock:
            if not public:
                return self._make(request, public)
            if self.api_version not in _made:
                _made[self.api_version] = self._make(request, public)
            return _made[self.api_version]

    def _make(self, request: Any, public: bool) -> dict[str, Any]:
        made: dict[str, Any] = super().get_schema(request, public)  # type: ignore[no-untyped-call]
        return made


def add_refusals(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A hook of drf-spectacular, run when the schema is made."""
    result.setdefault("components", {}).setdefault("schemas", {})["Refusal"] = REFUSAL
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    for operations in result["paths"].values():
        for method in METHODS:
            if method in operations:
                operations[method]["responses"]["4XX"] = {"description": "Refused", "content": content}
    return result
