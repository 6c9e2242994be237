"""Values without fields of their own as the API server reads them: texts, numbers, quantities, times, bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from scheduler_core.api.quantity import parse
from scheduler_core.api.schema.moments import in_utc
from scheduler_core.api.schema.problems import Reading
from scheduler_core.api.schema.types import Type
from scheduler_core.api.text_cache import cached_by_text

_INTEGERS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_LARGE: Final = 1e21  # numbers of this size are written with an exponent
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/=]")


def read_string(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if not isinstance(value, str):
        reading.refuse(owner, value, go_name)
        return ""
    return value


def _integer(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    least, most = _INTEGERS.get(go_name, _INTEGERS["int64"])
    if type(value) is not int or not least <= value <= most:
        reading.refuse(owner, value, go_name)
        return 0
    return value


def _number(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        reading.refuse(owner, value, go_name)
        return 0
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE else value


def _bool(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if not isinstance(value, bool):
        reading.refuse(owner, value, go_name)
        return False
    return value


def _quantity(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    try:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            value = ""
        return _quantity_text(str(value))
    except ValueError as error:
        reading.fail(str(error))
        return "0"


@cached_by_text(4096)
def _quantity_text(text: str) -> str:
    return str(parse(text))


def _int_or_string(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if isinstance(value, str):
        return value
    if type(value) is int and _INTEGERS["int32"][0] <= value <= _INTEGERS["int32"][1]:
        return value
    reading.refuse_and_end(owner, value, "int32")
    return 0


def _time(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    return _time_text(value, reading, owner, digits=0)


def _micro_time(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    return _time_text(value, reading, owner, digits=6)


def _time_text(value: Any, reading: Reading, owner: Type, *, digits: int) -> str | None:
    if not isinstance(value, str):
        reading.refuse_and_end(owner, value, "string")
        return None
    try:
        return in_utc(value, digits=digits)
    except ValueError as error:
        reading.fail(str(error))
        return None


def _raw(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    return value


def _bytes(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    text = read_string(value, reading, owner, go_name).replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except binascii.Error:
        wrong = _NOT_BASE64.search(text)
        reading.note(f"illegal base64 data at input byte {wrong.start() if wrong else len(text) // 4 * 4}")
    return text


READERS: Final[dict[str, Callable[[Any, Reading, Type, str], Any]]] = {
    "string": read_string,
    "int32": _integer,
    "int64": _integer,
    "number": _number,
    "bool": _bool,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "time": _time,
    "microtime": _micro_time,
    "raw": _raw,
    "json": _raw,
    "bytes": _bytes,
}
ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "number": 0,
    "bool": False,
    "quantity": "0",
    "intorstring": 0,
    "time": None,
    "microtime": None,
    "raw": None,
    "json": None,
    "bytes": None,
}
# Structs of the server, which it writes whether they are empty or not.
STRUCTS: Final = frozenset({"quantity", "intorstring", "time", "microtime", "raw"})
