"""Numbers of pods that are written as counts or percentages. Source: kubernetes v1.34.1, apimachinery util/intstr."""

from __future__ import annotations


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """Return a count as it is, a percentage of `total` rounded up or down; 0 for what is absent or cannot be read."""
    if value is None or isinstance(value, int):
        return value or 0
    digits = value.removesuffix("%")
    if not value.endswith("%") or not digits.isascii() or not digits.isdecimal() or len(digits) > 9:
        return 0
    product = total * int(digits)
    return -(-product // 100) if up else product // 100
