"""What the OpenAPI schema says of every operation besides its own answers: how refusals look.

Views answer refusals through one handler (refusals.py), so their form is added here once for all operations.
"""

from typing import Any

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


def add_refusals(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A hook of drf-spectacular, run when the schema is made."""
    result.setdefault("components", {}).setdefault("schemas", {})["Refusal"] = REFUSAL
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    for operations in result["paths"].values():
        for method in METHODS:
            if method in operations:
                operations[method]["responses"]["4XX"] = {"description": "Refused", "content": content}
    return result
