"""Regular expressions of RE2, which take time linear in the text whatever they are.

Source: github.com/google/re2, which Go's package regexp follows.
"""

from __future__ import annotations

import re2

from scheduler_core.cel.values import EvaluationError
from scheduler_core.lru import LruDict

_MAX_PATTERNS = 256
_options = re2.Options()
_options.log_errors = False
_compiled: LruDict[str, re2._Regexp] = LruDict(_MAX_PATTERNS)


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    return _of(pattern).search(text) is not None


def found(text: str, pattern: str, limit: int) -> tuple[str, ...]:
    """The parts of the text that the pattern matches, at most so many; below 0 all."""
    parts: list[str] = []
    for match in _of(pattern).finditer(text):
        if len(parts) == limit:
            break
        parts.append(match.group(0))
    return tuple(parts)


def _of(pattern: str) -> re2._Regexp:
    known = _compiled.get(pattern)
    if known is None:
        try:
            known = _compiled[pattern] = re2.compile(pattern, _options)
        except re2.error as error:
            raise EvaluationError(f"error parsing regexp: {error}") from error
    return known
