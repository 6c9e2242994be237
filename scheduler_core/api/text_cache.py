"""What is worked out of short texts that repeat: names, labels, quantities.

Texts come from outside, so a cache of them is bounded twice: in entries, and in the length of a text that is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

V = TypeVar("V")


def cached_by_text(entries: int, *, longest: int = 64) -> Callable[[Callable[[str], V]], Callable[[str], V]]:
    """Remember a function's values for the last `entries` different texts of at most `longest` characters."""

    def remembering(function: Callable[[str], V]) -> Callable[[str], V]:
        kept = lru_cache(entries)(function)

        @wraps(function)
        def asked(text: str) -> V:
            return kept(text) if len(text) <= longest else function(text)

        return asked

    return remembering
