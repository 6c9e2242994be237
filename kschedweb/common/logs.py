"""How a line of the log looks: as klog writes it, for people, or as one JSON object.

Text: severity, date, process, place, then the message and `key="value"` pairs. JSON: `ts` in milliseconds since the
epoch, `caller`, `v` of information (its verbosity) or `err` of errors, `msg`, then the fields. Information of a higher
verbosity than asked for is dropped where it is logged (`is_shown`).
Source: k8s.io/klog/v2, k8s.io/component-base/logs/json.
"""

from __future__ import annotations

import logging
import os
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import orjson
from django.conf import settings

EventDict = MutableMapping[str, Any]
SEVERITIES = {"critical": "F", "error": "E", "warning": "W"}
_OWN = ("event", "level", "logger", "v", "exception", "stack", "_record", "_from_structlog")
# What a line is about comes first.
_FIRST = ("cluster", "pod", "node", "attempt")


class Refusals(logging.Filter):
    """Refused requests are one line, and no failures: where in Django it happened says nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        is_suspicious = record.name.startswith("django.security.")
        if is_suspicious or (record.name == "django.request" and record.levelno < logging.ERROR):
            record.exc_info = record.exc_text = None
        if is_suspicious:  # Django takes what a stranger sends for an error of ours
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def is_shown(verbosity: int) -> bool:
    """Whether information of that verbosity is asked for: 2 results, 3 cycles, 4 updates, 6 hints, 10 scores."""
    return bool(verbosity <= settings.LOG_VERBOSITY)


def klog(_: object, __: str, event: EventDict) -> str:
    """One line of text; a traceback follows on lines of its own."""
    record = event.get("_record")
    level = event.get("level", "info")
    at = datetime.fromtimestamp(record.created if record else datetime.now(UTC).timestamp(), UTC)
    place = f"{record.filename}:{record.lineno}" if record else "-"
    pairs = "".join(f" {name}={_quoted(value)}" for name, value in _fields(event))
    line = (
        f"{SEVERITIES.get(level, 'I')}{at:%m%d %H:%M:%S.%f} {os.getpid():7} {place}] {_quoted(event['event'])}{pairs}"
    )
    after = [text for name in ("stack", "exception") if (text := event.get(name))]
    return "\n".join([line, *after])


def json_line(_: object, __: str, event: EventDict) -> str:
    """One JSON object."""
    record = event.get("_record")
    level = event.get("level", "info")
    at = record.created if record else datetime.now(UTC).timestamp()
    line: dict[str, Any] = {"ts": round(at * 1000, 3)}
    if record:
        line["caller"] = f"{record.filename}:{record.lineno}"
    line["level"] = level
    if level in ("info", "debug"):
        line["v"] = event.get("v", 0)
    line["msg"] = event["event"]
    line.update(_fields(event))
    if "exception" in event:
        line["stack"] = event["exception"]
    return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _fields(event: EventDict) -> list[tuple[str, Any]]:
    names = [name for name in event if name not in _OWN]
    first = [name for name in _FIRST if name in event]
    return [(name, event[name]) for name in (*first, *(name for name in names if name not in _FIRST))]


def _quoted(value: object) -> str:
    """Numbers and truth values as they are, the rest in quotes, on one line."""
    if isinstance(value, (bool, int, float)) or value is None:
        return orjson.dumps(value).decode()
    text = value if isinstance(value, str) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
