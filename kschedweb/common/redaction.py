"""The last thing that happens to a line of the log: secrets in it are blotted out, wherever they came from.

Nothing of ours logs a secret on purpose; this is for addresses, exceptions and what other libraries write. It knows
tokens, cookies, login links, Authorization headers, and passwords in addresses of databases. A text is cut before it
is searched, and no pattern looks at a character twice: what strangers send is written into the log too.
"""

import re
from collections.abc import MutableMapping
from datetime import datetime
from typing import Any

BLOT = "***"
SHOWN = 4_000  # characters of one value
SHOWN_OF = {"exception": 50_000, "stack": 50_000}  # their last line says the most
_LONGEST_SECRET = 1_000  # so much more is searched: a secret that the cut would part is seen whole
_PATTERNS = (
    re.compile(r"(/login/once/)[^\s'\"?]+"),
    re.compile(r"(\bksched_)[A-Za-z0-9_-]{20,}"),
    re.compile(r"(\bksched_(?:session|csrf)=)[^;\s'\"]+"),
    re.compile(r"((?i:\bbearer)\s++)[^\s'\"]+"),
    re.compile(r"(://[^:/@\s]*+:)[^@/\s]++(?=@)"),
    re.compile(r"((?i:\bpassword)['\"]?\s*+[=:]\s*+['\"]?)[^\s&'\"]+"),
)
_HARMLESS = (bool, int, float, type(None), datetime)


def redacted(text: str, shown: int = SHOWN) -> str:
    """The text without secrets, and without its end when it has more characters than are to be shown."""
    clean = text[: shown + _LONGEST_SECRET]
    for pattern in _PATTERNS:
        clean = pattern.sub(rf"\g<1>{BLOT}", clean)
    return clean if len(text) <= shown else f"{clean[:shown]}… (of {len(text)} characters)"


def redact(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor of structlog; values that are no text are looked at as the text they would become."""
    for name, value in event.items():
        if isinstance(value, _HARMLESS) or name.startswith("_"):
            continue
        text = value if isinstance(value, str) else str(value)
        clean = redacted(text, SHOWN_OF.get(name, SHOWN))
        if clean != text:
            event[name] = clean
    return event
