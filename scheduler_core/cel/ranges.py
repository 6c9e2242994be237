"""Ranges of sizes and costs: (fewest, most), both at most 2**64 - 1, which stands for whatever is more.

Source: cel-go 0.26, checker/cost.go.
"""

from __future__ import annotations

import math
from typing import Final

Range = tuple[int, int]

MOST: Final = 2**64 - 1
NOTHING: Final[Range] = (0, 0)
ONE: Final[Range] = (1, 1)
UNKNOWN: Final[Range] = (0, MOST)


def plus(one: Range, other: Range) -> Range:
    return min(one[0] + other[0], MOST), min(one[1] + other[1], MOST)


def times(one: Range, other: Range) -> Range:
    return min(one[0] * other[0], MOST), min(one[1] * other[1], MOST)


def scaled(one: Range, factor: float) -> Range:
    """Rounded up."""
    return _scaled(one[0], factor), _scaled(one[1], factor)


def union(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), max(one[1], other[1])


def _scaled(number: int, factor: float) -> int:
    product = math.ceil(float(number) * factor)
    return MOST if product >= 2**64 else product
