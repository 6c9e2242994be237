"""The last thing that happens to a line of the log: secrets in it are blotted out, wherever they came from.

Nothing of ours logs a secret on purpose; this is for addresses, exceptions and what other libraries write. It knows
tokens, cookies, login links, Authorization headers, and passwords in addresses of databases.
"""

import re
from collections.abc import MutableMapping
from datetime import datetime
from typing import Any

BLOT = "***"
_PATTERNS = (
    re.compile(r"(/login/once/)[^\s'\"?]+"),
    re.compile(r"(\bksched_)[A-Za-z0-9_-]{20,}"),
    re.compile(r"(\bksched_(?:session|csrf)=)[^;\s'\"]+"),
    re.compile(r"((?i:\bbearer)\s+)[^\s'\"]+"),
    re.compile(r"(\b[a-z+]+://[^:/@\s]*:)[^@/\s]+(?=@)"),
    re.compile(r"((?i:\bpassword)['\"]?\s*[=:]\s*['\"]?)[^\s&'\"]+"),
)
_HARMLESS = (bool, int, float, type(None), datetime)


def redacted(text: str) -> str:
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\g<1>{BLOT}", text)
    return text


def redact(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor of structlog; values that are no text are looked at as the text they would become."""
    for name, value in event.items():
        if isinstance(value, _HARMLESS) or name.startswith("_"):
            continue
        text = value if isinstance(value, str) else str(value)
        clean = redacted(text)
        if clean != text:
            event[name] = clean
    return event
