"""Values read as msgspec's types, by any number of threads.

msgspec (0.22) learns what a Struct consists of when the first value is read as one. Another thread that reads one
meanwhile meets half of what there is to know, and the process dies of a segmentation fault. So types are learnt by one
thread at a time, with all that they consist of, before anything is read as one.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_learnt: set[Any] = set()
_lock = Lock()


@overload
def convert(value: Any, kind: type[T], **options: Any) -> T: ...
@overload
def convert(value: Any, kind: Any, **options: Any) -> Any: ...
def convert(value: Any, kind: Any, **options: Any) -> Any:
    """The value as that type, with the options of `msgspec.convert`; msgspec.ValidationError."""
    if kind not in _learnt:
        _learn(kind)
    return msgspec.convert(value, kind, **options)  # noqa: TID251


def _learn(kind: Any) -> None:
    with _lock:
        msgspec.msgpack.Decoder(kind)
        _learnt.add(kind)
