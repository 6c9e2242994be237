"""Bodies that are JSON are told apart as Go's decoder does, however they are looked at."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.kubeapi.decoding import _SURELY_FLAT, _json_problem
from scheduler_core.apiserver.go_json import problem_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=8,
)


def same(content: bytes) -> bool:
    text = content.decode("utf-8", "replace")
    return _json_problem(content, text) == problem_of(text)


@given(
    VALUES, st.booleans(), st.integers(0, 40), st.sampled_from(["", "{", "}", ",", '"', "0", "-", "e", "\\", "\x01"])
)
def test_values_whole_and_damaged(value: object, is_ascii: bool, at: int, put: str) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    damaged = text[:at] + put + text[at + len(put) :]
    assert same(text.encode("utf-8", "surrogatepass")) and same(damaged.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{}", " {} ", "\ufeff{}", "{},", "[1,]", "01", "1.", "-", "1e999", "NaN", "-Infinity", "nul", "'a'"),
        *('"\\ud800"', '"\\x"', '"\t"', '"a', '{"a":1,"a":2}', '{"a" 1}', "// no", "18446744073709551616"),
        *("[" * 150 + "]" * 150, "[" * (_SURELY_FLAT + 1) + "]" * (_SURELY_FLAT + 1), "[" * 3000 + "]" * 3000),
    ],
)
def test_texts(text: str) -> None:
    assert same(text.encode())


def test_bytes_that_are_no_text() -> None:
    assert same(b'{"a":"\xff"}')
