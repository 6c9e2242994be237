"""What a call may cost, without its arguments, and how large its result may be.

Source: kubernetes v1.34.1, apiserver/pkg/cel/library/cost.go (EstimateCallCost); cel-go 0.26, checker/cost.go
(functionCost).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.cel.declarations import Declared
from scheduler_core.cel.ranges import MOST, NOTHING, ONE, UNKNOWN, Range, plus, scaled, times
from scheduler_core.cel.types import BYTES, CIDR, FORMAT, IP, QUANTITY, SEMVER, STRING, URL, Type, head

TRAVERSAL: Final = 0.1
REGEX: Final = 0.25
_LONGEST_NAME_REGEX: Final = 128
_LONGEST_FORMAT: Final = 64
_OF_ADDRESS: Final = scaled((8, 32), TRAVERSAL)  # 4 or 16 bytes, twice
_OF_NETWORK: Final = plus(plus(_OF_ADDRESS, scaled((4, 16), TRAVERSAL)), ONE)

AddedCost = tuple[Range, Range | None]
"""The cost, and the size of the result where that is known."""


@dataclass(frozen=True, slots=True)
class Argument:
    """`items`: the size of what it holds. `literal`: its value, None where it is no literal."""

    size: Range
    kind: Type
    items: Range
    literal: Any


Given = Sequence[Argument]
CostOfCall = Callable[[Declared, Argument | None, Given], AddedCost | None]


def cost_of_call(overload: Declared, target: Argument | None, given: Given) -> AddedCost:
    """The cost of an overload."""
    special = _BY_NAME.get(overload.name)
    found = special(overload, target, given) if special is not None else None
    return _standard(overload, target, given) if found is None else found


def _one(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return ONE, None


def _over_list(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    if target is None:
        return None
    if not isinstance(target.kind, tuple) or len(target.kind) == 1:
        return scaled(target.size, TRAVERSAL), None  # of a text
    each = plus(ONE, scaled(target.items, TRAVERSAL)) if target.kind[1] in (STRING, BYTES) else ONE
    return times(target.size, each), None


def _over_first(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return (scaled(given[0].size, TRAVERSAL), None) if given else None


def _over_first_twice(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return (scaled(given[0].size, 2 * TRAVERSAL), None) if given else None


def _url(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return (scaled(given[0].size, TRAVERSAL), given[0].size) if len(given) == 1 else None


def _over_text(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return (scaled(target.size, TRAVERSAL), target.size) if target is not None else None


def _replace(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    if target is None or len(given) < 2:
        return None
    size, old, new = target.size, given[0].size, given[1].size
    if old[0] == 0:  # the new text goes around every character
        most, kept_most = min(size[1] + 1, MOST), size[1]
    elif new[1] <= old[0]:
        most, kept_most = 0, size[1]
    else:
        most, kept_most = _quotient(size[1], old[0]), 0
    if old[1] == 0:
        least, kept_least = min(size[0] + 1, MOST), size[0]
    elif old[1] <= new[0]:
        least, kept_least = 0, size[0]
    else:
        least, kept_least = _quotient(size[0], old[1]), 0
    result = plus(times((least, most), new), (kept_least, kept_most))
    return scaled(size, 2 * TRAVERSAL), result


def _quotient(one: int, other: int) -> int:
    return min(-(-int(float(one)) // int(float(other))), MOST)


def _split(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    if target is None:
        return None
    most = target.size[1]
    if len(given) > 1 and isinstance(given[1].literal, int):
        most = given[1].literal % 2**64
    return scaled(target.size, 2 * TRAVERSAL), (0, most)


def _join(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    if target is None:
        return None
    size = times(target.size, target.items) if isinstance(target.kind, tuple) and len(target.kind) > 1 else NOTHING
    if given:
        separators = (max(target.size[0] - 1, 0), max(target.size[1] - 1, 0))
        size = plus(size, times(given[0].size, separators))
    return scaled(size, TRAVERSAL), size


def _find(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    if target is None or not given:
        return None
    cost = times(scaled(plus(target.size, ONE), TRAVERSAL), scaled(given[0].size, REGEX))
    return cost, (0, target.size[1])


def _ip(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return (ONE, None) if overload.is_member else _over_first(overload, target, given)


def _contains_address(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    read = scaled(given[0].size, TRAVERSAL) if overload.arguments[1] == STRING else NOTHING
    return plus(_OF_ADDRESS if overload.name == "containsIP" else _OF_NETWORK, read), None


def _sets(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    factor = 2 if overload.name == "sets.equivalent" else 1
    return plus(scaled(times(given[0].size, given[1].size), factor), ONE), None


def _validate(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    return scaled(scaled(given[0].size, TRAVERSAL), _LONGEST_NAME_REGEX * REGEX), None


def _equals(overload: Declared, target: Argument | None, given: Given) -> AddedCost | None:
    one, other = given
    if one.kind != other.kind:
        return None
    if one.kind in (IP, CIDR, QUANTITY, SEMVER):
        return ONE, None
    if one.kind == FORMAT:
        return scaled((1, _LONGEST_FORMAT), TRAVERSAL), None
    if one.kind == URL:
        return scaled((1, 1 if other.size == UNKNOWN else other.size[1]), TRAVERSAL), None
    return None


def _standard(overload: Declared, target: Argument | None, given: Given) -> AddedCost:
    """What cel-go estimates, where Kubernetes says nothing."""
    name, kinds = overload.name, overload.arguments
    if name == "format" and target is not None:
        return scaled(target.size, TRAVERSAL), None
    if name in ("bytes", "string") and kinds in ((STRING,), (BYTES,)) and kinds != (overload.result,):
        size = given[0].size
        result = (size[0], min(size[1] * 4, MOST)) if name == "bytes" else (size[0] // 4, size[1])
        return scaled(size, TRAVERSAL), result
    if name == "strings.quote":
        size = given[0].size
        return scaled(size, TRAVERSAL), (size[0] + 2, min(size[1] * 2 + 2, MOST))
    if name in ("startsWith", "endsWith"):
        return scaled(given[0].size, TRAVERSAL), None
    if name == "@in" and head(kinds[1]) == "list":
        return scaled(given[1].size, 1), None
    if name == "matches" and target is not None:
        text = scaled(plus(target.size, ONE), TRAVERSAL)
        return times(text, scaled(given[0].size, REGEX)), None
    if name == "contains" and target is not None:
        return times(scaled(target.size, TRAVERSAL), scaled(given[0].size, TRAVERSAL)), None
    if name == "_+_" and kinds[0] in (STRING, BYTES, ("list", "A")):
        size = plus(given[0].size, given[1].size)
        return (ONE if kinds[0] == ("list", "A") else scaled(size, TRAVERSAL)), size
    if name in ("_==_", "_!=_") or (name in _ORDERING and kinds[0] == kinds[1] and kinds[0] in (STRING, BYTES)):
        most = min(given[0].size[1], given[1].size[1])
        return scaled((1 if most > 0 else 0, most), TRAVERSAL), None
    return ONE, None


_ORDERING: Final = ("_<_", "_<=_", "_>_", "_>=_")
_BY_NAME: Final[dict[str, CostOfCall]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_list),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _over_first),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _over_text),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _sets),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    **dict.fromkeys(
        (
            "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
            "isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger",
            "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch",
            "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
        ),
        _one,
    ),
    "ip": _ip,
    "ip.isCanonical": _over_first_twice,
    "url": _url,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "validate": _validate,
    "_==_": _equals,
}  # fmt: skip
