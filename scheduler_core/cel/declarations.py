"""What functions and operators there are, and of which types: what the checker chooses from.

Source: cel-go 0.26 (common/stdlib, cel/library.go, ext), and kubernetes v1.34.1, apiserver/pkg/cel/library and
environment/base.go: new expressions know what Kubernetes 1.33 knew, stored ones everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scheduler_core.cel.types import FORMAT, Type

_ORDERED: Final = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_MIXED: Final = ("int", "uint", "double")
_FORMATS: Final = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix",
    "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
)  # fmt: skip

# A name, of a method the type of its target and a point, the types of the arguments, and that of the result. A and B
# are type parameters.
_EVERYWHERE: Final = """
_?_:_ (bool, A, A) -> A
_&&_ (bool, bool) -> bool
_||_ (bool, bool) -> bool
!_ (bool) -> bool
@not_strictly_false (bool) -> bool
_==_ (A, A) -> bool
_!=_ (A, A) -> bool
_+_ (bytes, bytes) -> bytes
_+_ (double, double) -> double
_+_ (duration, duration) -> duration
_+_ (duration, timestamp) -> timestamp
_+_ (timestamp, duration) -> timestamp
_+_ (int, int) -> int
_+_ (list(A), list(A)) -> list(A)
_+_ (string, string) -> string
_+_ (uint, uint) -> uint
_/_ (double, double) -> double
_/_ (int, int) -> int
_/_ (uint, uint) -> uint
_%_ (int, int) -> int
_%_ (uint, uint) -> uint
_*_ (double, double) -> double
_*_ (int, int) -> int
_*_ (uint, uint) -> uint
-_ (double) -> double
-_ (int) -> int
_-_ (double, double) -> double
_-_ (duration, duration) -> duration
_-_ (int, int) -> int
_-_ (timestamp, duration) -> timestamp
_-_ (timestamp, timestamp) -> duration
_-_ (uint, uint) -> uint
_[_] (list(A), int) -> A
_[_] (map(A, B), A) -> B
_[_] (optional_type(list(A)), int) -> optional_type(A)
_[_] (optional_type(map(A, B)), A) -> optional_type(B)
_[?_] (list(A), int) -> optional_type(A)
_[?_] (optional_type(list(A)), int) -> optional_type(A)
_[?_] (map(A, B), A) -> optional_type(B)
_[?_] (optional_type(map(A, B)), A) -> optional_type(B)
@in (A, list(A)) -> bool
@in (A, map(A, B)) -> bool
size (bytes) -> int
size bytes . () -> int
size (list(A)) -> int
size list(A) . () -> int
size (map(A, B)) -> int
size map(A, B) . () -> int
size (string) -> int
size string . () -> int
type (A) -> type(A)
bool (bool) -> bool
bool (string) -> bool
bytes (bytes) -> bytes
bytes (string) -> bytes
double (double) -> double
double (int) -> double
double (string) -> double
double (uint) -> double
duration (duration) -> duration
duration (int) -> duration
duration (string) -> duration
dyn (A) -> dyn
int (int) -> int
int (double) -> int
int (duration) -> int
int (string) -> int
int (timestamp) -> int
int (uint) -> int
string (string) -> string
string (bool) -> string
string (bytes) -> string
string (double) -> string
string (duration) -> string
string (int) -> string
string (timestamp) -> string
string (uint) -> string
timestamp (timestamp) -> timestamp
timestamp (int) -> timestamp
timestamp (string) -> timestamp
uint (uint) -> uint
uint (double) -> uint
uint (int) -> uint
uint (string) -> uint
contains string . (string) -> bool
endsWith string . (string) -> bool
startsWith string . (string) -> bool
matches (string, string) -> bool
matches string . (string) -> bool
getHours duration . () -> int
getMinutes duration . () -> int
getSeconds duration . () -> int
getMilliseconds duration . () -> int
optional.of (A) -> optional_type(A)
optional.ofNonZeroValue (A) -> optional_type(A)
optional.none () -> optional_type(A)
optional.unwrap (list(optional_type(A))) -> list(A)
unwrapOpt list(optional_type(A)) . () -> list(A)
value optional_type(A) . () -> A
hasValue optional_type(A) . () -> bool
or optional_type(A) . (optional_type(A)) -> optional_type(A)
orValue optional_type(A) . (A) -> A
first list(A) . () -> optional_type(A)
last list(A) . () -> optional_type(A)
cel.@mapInsert (map(A, B), A, B) -> map(A, B)
cel.@mapInsert (map(A, B), map(A, B)) -> map(A, B)
charAt string . (int) -> string
indexOf string . (string) -> int
indexOf string . (string, int) -> int
lastIndexOf string . (string) -> int
lastIndexOf string . (string, int) -> int
lowerAscii string . () -> string
upperAscii string . () -> string
replace string . (string, string) -> string
replace string . (string, string, int) -> string
split string . (string) -> list(string)
split string . (string, int) -> list(string)
substring string . (int) -> string
substring string . (int, int) -> string
trim string . () -> string
format string . (list(dyn)) -> string
strings.quote (string) -> string
join list(string) . () -> string
join list(string) . (string) -> string
sets.contains (list(A), list(A)) -> bool
sets.equivalent (list(A), list(A)) -> bool
sets.intersects (list(A), list(A)) -> bool
indexOf list(A) . (A) -> int
lastIndexOf list(A) . (A) -> int
sum list(int) . () -> int
sum list(uint) . () -> uint
sum list(double) . () -> double
sum list(duration) . () -> duration
find string . (string) -> string
findAll string . (string) -> list(string)
findAll string . (string, int) -> list(string)
quantity (string) -> kubernetes.Quantity
isQuantity (string) -> bool
sign (kubernetes.Quantity) -> int
isGreaterThan kubernetes.Quantity . (kubernetes.Quantity) -> bool
isLessThan kubernetes.Quantity . (kubernetes.Quantity) -> bool
compareTo kubernetes.Quantity . (kubernetes.Quantity) -> int
asApproximateFloat kubernetes.Quantity . () -> double
asInteger kubernetes.Quantity . () -> int
isInteger kubernetes.Quantity . () -> bool
add kubernetes.Quantity . (kubernetes.Quantity) -> kubernetes.Quantity
add kubernetes.Quantity . (int) -> kubernetes.Quantity
sub kubernetes.Quantity . (kubernetes.Quantity) -> kubernetes.Quantity
sub kubernetes.Quantity . (int) -> kubernetes.Quantity
semver (string) -> kubernetes.Semver
semver (string, bool) -> kubernetes.Semver
isSemver (string) -> bool
isSemver (string, bool) -> bool
isGreaterThan kubernetes.Semver . (kubernetes.Semver) -> bool
isLessThan kubernetes.Semver . (kubernetes.Semver) -> bool
compareTo kubernetes.Semver . (kubernetes.Semver) -> int
major kubernetes.Semver . () -> int
minor kubernetes.Semver . () -> int
patch kubernetes.Semver . () -> int
url (string) -> kubernetes.URL
isURL (string) -> bool
getScheme kubernetes.URL . () -> string
getHost kubernetes.URL . () -> string
getHostname kubernetes.URL . () -> string
getPort kubernetes.URL . () -> string
getEscapedPath kubernetes.URL . () -> string
getQuery kubernetes.URL . () -> map(string, list(string))
ip (string) -> net.IP
ip.isCanonical (string) -> bool
isIP (string) -> bool
family net.IP . () -> int
isUnspecified net.IP . () -> bool
isLoopback net.IP . () -> bool
isLinkLocalMulticast net.IP . () -> bool
isLinkLocalUnicast net.IP . () -> bool
isGlobalUnicast net.IP . () -> bool
string (net.IP) -> string
cidr (string) -> net.CIDR
isCIDR (string) -> bool
containsIP net.CIDR . (string) -> bool
containsIP net.CIDR . (net.IP) -> bool
containsCIDR net.CIDR . (string) -> bool
containsCIDR net.CIDR . (net.CIDR) -> bool
ip net.CIDR . () -> net.IP
prefixLength net.CIDR . () -> int
masked net.CIDR . () -> net.CIDR
string (net.CIDR) -> string
format.named (string) -> optional_type(kubernetes.NamedFormat)
validate kubernetes.NamedFormat . (string) -> optional_type(list(string))
path kubernetes.authorization.Authorizer . (string) -> kubernetes.authorization.PathCheck
group kubernetes.authorization.Authorizer . (string) -> kubernetes.authorization.GroupCheck
serviceAccount kubernetes.authorization.Authorizer . (string, string) -> kubernetes.authorization.Authorizer
resource kubernetes.authorization.GroupCheck . (string) -> kubernetes.authorization.ResourceCheck
subresource kubernetes.authorization.ResourceCheck . (string) -> kubernetes.authorization.ResourceCheck
namespace kubernetes.authorization.ResourceCheck . (string) -> kubernetes.authorization.ResourceCheck
name kubernetes.authorization.ResourceCheck . (string) -> kubernetes.authorization.ResourceCheck
fieldSelector kubernetes.authorization.ResourceCheck . (string) -> kubernetes.authorization.ResourceCheck
labelSelector kubernetes.authorization.ResourceCheck . (string) -> kubernetes.authorization.ResourceCheck
check kubernetes.authorization.PathCheck . (string) -> kubernetes.authorization.Decision
check kubernetes.authorization.ResourceCheck . (string) -> kubernetes.authorization.Decision
errored kubernetes.authorization.Decision . () -> bool
error kubernetes.authorization.Decision . () -> string
allowed kubernetes.authorization.Decision . () -> bool
reason kubernetes.authorization.Decision . () -> string
"""
_STORED_ONLY: Final = """
slice list(A) . (int, int) -> list(A)
flatten list(list(A)) . () -> list(A)
flatten list(dyn) . (int) -> list(dyn)
lists.range (int) -> list(int)
reverse list(A) . () -> list(A)
distinct list(A) . () -> list(A)
"""
_OF_TIMESTAMPS: Final = (
    "getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
)  # fmt: skip
_WORDS: Final = re.compile(r"[A-Za-z_](?:[\w.]*\w)?|[(),]")


@dataclass(frozen=True, slots=True)
class Declared:
    """An overload; `arguments` begin with the target of a method. Type parameters are capital letters."""

    name: str
    is_member: bool
    arguments: tuple[Type, ...]
    result: Type
    parameters: tuple[str, ...]


Functions = dict[str, list[Declared]]


def type_of(text: str) -> Type:
    """The type that the text says: `map(string, list(A))`."""
    found, rest = _type_of(_WORDS.findall(text))
    assert not rest, text
    return found


def _type_of(words: list[str]) -> tuple[Type, list[str]]:
    name, *rest = words
    if rest[:1] != ["("]:
        return name, rest
    parts: list[Type] = [name]
    while rest[0] != ")":
        if rest[1] == ")":
            return (name,), rest[2:]
        part, rest = _type_of(rest[1:])
        parts.append(part)
    return tuple(parts), rest[1:]


def _declared(line: str) -> Declared:
    name, _, signature = line.partition(" ")
    taken, _, given = signature.partition(" -> ")
    target, is_member, arguments = taken.rpartition(" . ")
    listed = type_of(f"of{arguments}")[1:]
    types = (type_of(target), *listed) if is_member else tuple(listed)
    result = type_of(given)
    parameters = tuple(sorted({word for each in (*types, result) for word in _parameters(each)}))
    return Declared(name, bool(is_member), types, result, parameters)


def _parameters(kind: Type) -> Iterator[str]:
    if isinstance(kind, tuple):
        for part in kind[1:]:
            yield from _parameters(part)
    elif len(kind) == 1:
        yield kind


def _generated() -> Iterator[str]:
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        yield from (f"{operator} ({kind}, {kind}) -> bool" for kind in _ORDERED)
        yield from (f"{operator} ({one}, {other}) -> bool" for one in _MIXED for other in _MIXED if one != other)
    for kind in _ORDERED:
        yield f"isSorted list({kind}) . () -> bool"
        yield from (f"{name} list({kind}) . () -> {kind}" for name in ("min", "max"))
    for name in _OF_TIMESTAMPS:
        yield f"{name} timestamp . () -> int"
        yield f"{name} timestamp . (string) -> int"
    yield from (f"format.{name} () -> {FORMAT}" for name in _FORMATS)


def _generated_stored() -> Iterator[str]:
    for kind in _ORDERED:
        yield f"sort list({kind}) . () -> list({kind})"
        yield f"@sortByAssociatedKeys list(A) . (list({kind})) -> list(A)"


def _functions(lines: Iterator[str]) -> Functions:
    found: Functions = {}
    for line in lines:
        declared = _declared(line)
        found.setdefault(declared.name, []).append(declared)
    return found


NEW: Final = _functions(iter([*_EVERYWHERE.strip().splitlines(), *_generated()]))
"""What expressions of objects that are created may use."""
STORED: Final = _functions(
    iter([*_EVERYWHERE.strip().splitlines(), *_generated(), *_STORED_ONLY.strip().splitlines(), *_generated_stored()])
)
"""What expressions may use when they are evaluated."""
