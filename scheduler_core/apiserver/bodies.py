"""JSON bodies with what decoding would lose: fields that stand twice in the same object.

The last of them counts, as in the API server.
"""

from __future__ import annotations

import json
from typing import Any

from scheduler_core.apiserver.calls import Body


class _Object(dict[str, Any]):
    """A JSON object and the names that stood in it more than once."""

    __slots__ = ("repeated",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: list[str] = []
        if len(self) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen and name not in self.repeated:
                    self.repeated.append(name)
                seen.add(name)


def read_json(text: bytes | str) -> Body:
    """The body; raises json.JSONDecodeError."""
    value = json.loads(text, object_pairs_hook=_Object)
    repeated: list[str] = []
    _collect(value, "", repeated)
    return Body(value, tuple(repeated))


def _collect(value: Any, path: str, repeated: list[str]) -> None:
    if isinstance(value, _Object):
        prefix = f"{path}." if path else ""
        repeated += [prefix + name for name in value.repeated]
        for name, item in value.items():
            _collect(item, prefix + name, repeated)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{path}[{index}]", repeated)
