"""Values are printed as Go prints the structs they are decoded into; whole templates are compared in test_hashes."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.quantity import parse
from scheduler_core.api.schema.go_text import go_text
from tests.cases import cases

DECIMAL, BINARY, EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"


def in_int64(digits: int, scale: int) -> str:
    number = f"i:(resource.int64Amount){{value:(int64){digits} scale:(resource.Scale){scale}}}"
    return f"{number} d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}}"


def in_words(words: str, *, negative: bool = False) -> str:
    number = f"unscaled:(big.Int){{neg:(bool){str(negative).lower()} abs:(big.nat)[{words}]}} scale:(inf.Scale)9"
    nothing = "i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0}"
    return f"{nothing} d:(resource.infDecAmount){{Dec:(*inf.Dec){{{number}}}}}"


@cases(
    "text, number, kept, form",
    ("zero", "0", in_int64(0, 0), "0", DECIMAL),
    ("thousandths", "500m", in_int64(500, -3), "500m", DECIMAL),
    ("negative", "-5", in_int64(-5, 0), "-5", DECIMAL),
    ("exponent", "1e3", in_int64(1, 3), "1e3", EXPONENT),
    ("text is not kept", "1000", in_int64(1000, 0), "", DECIMAL),
    ("binary", "1Gi", in_int64(2**30, 0), "1Gi", BINARY),
    ("binary, text is not kept", "512Mi", in_int64(2**29, 0), "", BINARY),
    ("big", "7Ei", in_words("0 437500000"), "", BINARY),
    ("big, negative", "-1234567890123456789", in_words("7888470988684038656 66926059", negative=True), "", DECIMAL),
)
def test_quantity_is_as_it_is_parsed(text: str, number: str, kept: str, form: str) -> None:
    want = f"(resource.Quantity){{{number} s:(string){kept} Format:(resource.Format){form}}}"
    assert go_text(text, "resource.Quantity") == want


def test_text_of_a_quantity_printed_before_is_not_kept() -> None:
    assert str(parse("512Mi")) == "512Mi"
    assert " s:(string) " in go_text("512Mi", "resource.Quantity")


ZERO_TIME = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
TIME = (
    "{Time:(time.Time){wall:(uint64)0 ext:(int64)62135596800 loc:(*time.Location){name:(string)UTC"
    " zone:([]time.zone)<nil> tx:([]time.zoneTrans)<nil> extend:(string) cacheStart:(int64)0 cacheEnd:(int64)0"
    " cacheZone:(*time.zone)<nil>}}}"
)
PORT = "{{Type:(intstr.Type){} IntVal:(int32){} StrVal:(string){}}}"
REFERENCE = "{LocalObjectReference:(v1.LocalObjectReference){Name:(string)a} Key:(string)k Optional:(*bool)<nil>}"


@cases(
    "value, type_name, want",
    ("nil pointer", None, "*int64", "<nil>"),
    ("pointer to zero", 0, "*int64", "0"),
    ("pointer to false", False, "*bool", "false"),
    ("pointer to an empty string", "", "*string", ""),
    ("empty list", [], "[]string", "<nil>"),
    ("list", ["b", "", "a c"], "[]string", "[b  a c]"),
    ("empty map", {}, "map[string]string", "<nil>"),
    ("map", {"é": "1", "a": "", "Z": "x"}, "map[string]string", "map[Z:x a: é:1]"),
    ("named string", "Always", "v1.RestartPolicy", "Always"),
    ("absent string", None, "v1.RestartPolicy", ""),
    ("port", 80, "intstr.IntOrString", PORT.format(0, 80, "")),
    ("name of a port", "80", "intstr.IntOrString", PORT.format(1, 0, 80)),
    ("struct within a struct", {"name": "a", "key": "k"}, "*v1.SecretKeySelector", REFERENCE),
    ("no time", None, "v1.Time", ZERO_TIME),
    ("time", "1970-01-01T00:00:00Z", "v1.Time", TIME),
)
def test_value_is_printed_with_its_type(value: Any, type_name: str, want: str) -> None:
    assert go_text(value, type_name) == f"({type_name}){want}"
