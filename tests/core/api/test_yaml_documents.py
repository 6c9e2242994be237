"""Texts of several YAML documents of which one cannot be read: the others are, and each stands under its own number."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.places import Places
from scheduler_core.api.yaml_text import YamlBounds, each_document, read_documents
from scheduler_core.errors import YamlError
from tests.cases import cases
from tests.examples import examples

BOUNDS = YamlBounds(depth=64, values=10_000, alias_values=100)
WRONG = "wrong"


def told(text: str | bytes) -> list[tuple[int, Any]]:
    """The documents with their numbers; of one that cannot be read its line, with a word in front."""
    content = text if isinstance(text, bytes) else text.encode()
    return [
        (number, (WRONG, value.line) if isinstance(value, YamlError) else value)
        for number, value in each_document(content, BOUNDS)
    ]


@cases(
    "text, want",
    ("a template in the first", "a: {{ .x }}\n---\nb: 1\n", [(1, (WRONG, 1)), (2, {"b": 1})]),
    ("in the middle", "a: 1\n---\nb: [\n---\nc: 1\n", [(1, {"a": 1}), (2, (WRONG, 4)), (3, {"c": 1})]),
    ("an open quote", 'a: 1\n---\nb: "x\n---\nc: 1\n', [(1, {"a": 1}), (2, (WRONG, 4)), (3, {"c": 1})]),
    ("several in a row", "a: ]\n---\nb: ]\n---\nc: 1", [(1, (WRONG, 1)), (2, (WRONG, 3)), (3, {"c": 1})]),
    ("the last", "a: 1\n---\n- b\nc: 1\n", [(1, {"a": 1}), (2, (WRONG, 4))]),
    ("on the line of its separator", "a: 1\n--- }\n--- b\n", [(1, {"a": 1}), (2, (WRONG, 2)), (3, "b")]),
    ("a key that stands twice", "a: 1\na: 2\n---\nb: 1\n", [(1, (WRONG, 2)), (2, {"b": 1})]),
    ("a character that may not stand there", "a: 1\n---\nb: \a\n---\nc: 1\n",
     [(1, {"a": 1}), (2, (WRONG, 3)), (3, {"c": 1})]),
    ("what stands behind a document", "{a: 1}\nb\n---\nc: 1\n", [(1, (WRONG, 2)), (2, {"c": 1})]),
    ("what stands behind the end of a document", "a: 1\n...\nb: 1\n---\nc: 1\n", [(1, (WRONG, 3)), (2, {"c": 1})]),
    ("a text of bare carriage returns", "a: 1\r---\rb: [\r---\rc: 1\r", [(1, {"a": 1}), (2, (WRONG, 4))]),
    ("an alias of the document before", "a: &x 1\n---\nb: *x\n---\nc: 1\n",
     [(1, {"a": 1}), (2, (WRONG, 3)), (3, {"c": 1})]),
    ("lines of Windows", "a: ]\r\n---\r\nb: 1\r\n", [(1, (WRONG, 1)), (2, {"b": 1})]),
    ("a merge key of no object", "<<: 1\n---\n<<: [{}, 1]\n---\na: 1\n",
     [(1, (WRONG, 1)), (2, (WRONG, 3)), (3, {"a": 1})]),
    ("a key that stands twice beside a merge key", "<<: {a: 1}\na: 2\na: 3\n", [(1, (WRONG, 3))]),
    ("a byte order mark within", b"a: 1\n\xef\xbb\xbf---\nb: 1\n", [(1, {"a": 1}), (2, {"b": 1})]),
)  # fmt: skip
def test_documents_beside_one_that_cannot_be_read_are_read(text: str | bytes, want: list[tuple[int, Any]]) -> None:
    assert told(text) == want


@cases(
    "text, want",
    ("comments and empty documents", "# x\n---\n---\na: 1\n---\n# y\n", [(1, None), (2, {"a": 1}), (3, None)]),
    ("directives", "%YAML 1.1\n%TAG !t! tag:yaml.org,2002:\n# x\n---\na: !t!str 1\n", [(1, {"a": "1"})]),
    ("directives of a later document", "a: 1\n...\n%TAG !t! tag:yaml.org,2002:\n\n---\nb: !t!str 1\n",
     [(1, {"a": 1}), (2, {"b": "1"})]),
    ("what looks like a separator", "a: |\n  ---\n  b\nc: ---d\n", [(1, {"a": "---\nb\n", "c": "---d"})]),
    ("lines at the end of a text that are kept", "a: |+\n  b\n\n---\nc: 1\n", [(1, {"a": "b\n\n"}), (2, {"c": 1})]),
    ("nothing", "", []),
    ("a merge key", "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", [(1, {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}})]),
    ("merge keys, of which the first object counts", "<<: [{a: 1}, {a: 2, b: 2}]\n<<: {c: 3}\n",
     [(1, {"a": 1, "b": 2, "c": 3})]),
    ("a merge key behind a key of its object", "a: 1\n<<: {a: 2}\n", [(1, {"a": 2})]),
    ("a key that is only like it", "'<<': 1\n", [(1, {"<<": 1})]),
    ("whole numbers with a point", "[1e1, 2.0, 1.5, 1e300, 1e-2]\n", [(1, [10, 2, 1.5, 1e300, 0.01])]),
)  # fmt: skip
def test_sound_documents_stand_under_their_numbers(text: str, want: list[tuple[int, Any]]) -> None:
    assert told(text) == want
    assert list(read_documents(text.encode(), BOUNDS)) == want


def test_reading_ends_at_a_bound_and_at_the_first_error_where_one_is_raised() -> None:
    content = b"a: *x\n---\nb: [1, 2, 3]\n---\nc: 1\n"
    (_, first), (_, second) = each_document(content, YamlBounds(depth=64, values=7, alias_values=100))
    assert (first.document, first.line, first.limit, second.document, second.limit) == (1, 1, 0, 2, 7)
    with pytest.raises(YamlError, match="names no finished anchor"):
        list(read_documents(content, BOUNDS))


def test_places_are_lines_of_the_text_and_not_of_a_part() -> None:
    places = Places()
    list(read_documents(b"# x\n---\na:\n  b: 1\n", BOUNDS, places=places))
    assert places.root.find("a.b") == (4, True)


PARTS = {"good": "kind: A\n", "empty": "", "wrong": "a: {{ x }}\n", "cut": 'b: "x\n', "list": "- 1\n- 2\n"}


@given(st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=8))
@examples(30)
def test_each_document_is_told_once(names: list[str]) -> None:
    found = told("".join(f"---\n{PARTS[name]}" for name in names))
    assert [number for number, _ in found] == list(range(1, len(names) + 1))
    is_wrong = [isinstance(value, tuple) for _, value in found]
    assert is_wrong == [name in ("wrong", "cut") for name in names]


def test_places_of_merged_keys_are_those_of_their_object() -> None:
    places = Places()
    list(read_documents(b"a: &x\n  b: 1\nc:\n  <<: *x\n  d: 2\n", BOUNDS, places=places))
    assert places.root is not None
    below = places.root.below["c"].below
    assert {key: place.line for key, place in below.items()} == {"b": 2, "d": 5}
    assert places.duplicates == []
