"""What is as small as it may be: a number, a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def least(first: int, is_enough: Callable[[int], bool], most: int) -> int | None:
    """The least number from the first on that is enough, where more of it always is; None: `most` is not."""
    below, above, step = first - 1, first, 1
    while not is_enough(above):
        if above >= most:
            return None
        below, step = above, step * 2
        above = min(above + step, most)
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (below, middle) if is_enough(middle) else (middle, above)
    return above


def fewest(listed: Sequence[T], is_enough: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Of these as few as are enough: none of them can be left out. Nothing where all are not enough."""
    if not listed or not is_enough(listed):
        return ()
    kept = list(listed)
    for each in reversed(listed):
        left = [other for other in kept if other is not each]
        if left and is_enough(left):
            kept = left
    return kept
