"""Values as Go prints them in the messages of the API server, and as JSON.

Source: Go's strconv.Quote and encoding/json; apimachinery of Kubernetes 1.34, pkg/util/validation/field.
"""

from __future__ import annotations

import json
from typing import Any, Final

_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip
# These stand in texts only, so the whole JSON may be translated.
_IN_JSON: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def shown(value: Any) -> str:
    """A text quoted, all else as compact JSON; what JSON does not know by its text."""
    if isinstance(value, str):
        return quoted(value)
    return json_quoted(value)


def json_quoted(value: Any) -> str:
    """Anything as compact JSON, as texts of types of their own are printed too."""
    return json.dumps(value, separators=(",", ":"), default=str, ensure_ascii=False).translate(_IN_JSON)


def map_json(value: Any) -> str:
    """What is made of maps as compact JSON, which has their keys in order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).translate(_IN_JSON)


def quoted(text: str) -> str:
    """Printable characters of any script as they are, the others escaped."""
    return '"' + "".join(_ESCAPES.get(char) or _printed(char) for char in text) + '"'


def _printed(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
