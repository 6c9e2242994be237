"""What YAML scalars mean, how deep and how large texts may be, and which formats are told apart."""

import gzip
from collections.abc import Iterable
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.cluster.intake import files, json_text, objects, yaml_text
from kschedweb.cluster.intake.files import Format, Received, Upload
from kschedweb.cluster.intake.limits import MIB, Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError
from kschedweb.environment import ROOT
from scheduler_core.api.json_shape import json_shape
from tests.cases import cases

LIMITS = Limits()


def sound(documents: Iterable[tuple[Place, Any]]) -> list[Any]:
    """The documents; what is wrong with the first that cannot be read is raised."""
    found = [value for _, value in documents]
    for value in found:
        if isinstance(value, UnreadableError):
            raise value
    return found


def read_yaml(text: str, limits: Limits = LIMITS) -> list[Any]:
    return sound(yaml_text.read("f", text.encode(), limits))


def read_json(content: bytes, limits: Limits = LIMITS) -> Any:
    (value,) = sound(json_text.read("f", content, limits))
    return value


@cases(
    "text, value",
    ("true", "true", True),
    ("yes is true, as for kubectl", "yes", True),
    ("off is false", "Off", False),
    ("quoted yes is text", '"yes"', "yes"),
    ("y is text", "y", "y"),
    ("tilde is null", "~", None),
    ("nothing is null", "", None),
    ("decimal", "12", 12),
    ("underscores", "-1_000", -1000),
    ("hexadecimal", "0x1F", 31),
    ("binary", "0b101", 5),
    ("octal of YAML 1.1", "0644", 420),
    ("octal of YAML 1.2", "0o644", 420),
    ("fraction", "1.5", 1.5),
    ("exponent", "1e3", 1000),
    ("a quantity is text", "100m", "100m"),
    ("another quantity", "1Gi", "1Gi"),
    ("a time of day is text", "12:30", "12:30"),
    ("a date is text", "2030-01-01", "2030-01-01"),
    ("a timestamp is text", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
    ("a version is text", "1.2.3", "1.2.3"),
    ("a date that is none is text", "2024-13-45", "2024-13-45"),
    ("a time that is none is text", "2024-01-01T99:99:99Z", "2024-01-01T99:99:99Z"),
    ("hexadecimal without digits is text", "0x_", "0x_"),
    ("binary without digits is text", "0b_", "0b_"),
    ("a number no float holds is text", "1e999", "1e999"),
    ("a long fraction", "1." + "1" * 5000, 1.1111111111111112),
    ("a dash begins a list", "-", [None]),
    ("a tag makes text", "!!str 12", "12"),
    ("a tag makes a number", '!!int "12"', 12),
    ("beyond 64 bits it is a float", "99999999999999999999", 1e20),
    ("no merge keys", "<<", "<<"),
)
def test_yaml_scalar_means_what_kubectl_takes_it_for(text: str, value: Any) -> None:
    found = read_yaml(f"a: {text}\n" if text != "-" else "a:\n-\n")
    assert found == [{"a": value}]
    assert type(found[0]["a"]) is type(value)


def test_yaml_keys_become_text() -> None:
    assert read_yaml("{1: a, true: b, null: c, 1.5: d}") == [{"1": "a", "true": "b", "null": "c", "1.5": "d"}]


def test_yaml_aliases_repeat_a_value_within_the_limit() -> None:
    assert read_yaml("a: &x [1, 2]\nb: *x\n") == [{"a": [1, 2], "b": [1, 2]}]
    with pytest.raises(UploadTooLargeError):
        read_yaml("a: &x [1, 2]\nb: *x\n", Limits(alias_values=2))


def test_yaml_anchors_end_with_their_document() -> None:
    with pytest.raises(UnreadableError, match="document 2: line 3"):
        read_yaml("a: &x 1\n---\nb: *x\n")


def test_yaml_aliases_count_for_depth() -> None:
    text = "a: &x [[[1]]]\nb: {c: {d: *x}}\n"
    assert read_yaml(text, Limits(depth=6))
    with pytest.raises(UploadTooLargeError, match="nested more than 5 deep"):
        read_yaml(text, Limits(depth=5))


def test_report_counts_documents_and_objects_of_each_file() -> None:
    two = "".join(f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: n{number}}}\n" for number in range(2))
    reports = objects.read([Upload("two.yaml", two.encode()), Upload("none.yaml", b"---\n")], LIMITS).files
    assert [(each.name, each.documents, each.objects) for each in reports] == [("two.yaml", 2, 2), ("none.yaml", 0, 0)]


@pytest.mark.parametrize(("name", "small"), [("a.json", True), ("a.yaml", False)])
def test_request_takes_less_yaml_than_json(name: str, small: bool) -> None:
    content = b'{"a": 1}' + b" " * LIMITS.sync_yaml_bytes
    assert files.is_small([Received.of(name, content if small else b"a: 1\n" + content[8:])], LIMITS) is small


def test_yaml_empty_documents_are_left_out_but_counted() -> None:
    found = [(place.document, value) for place, value in yaml_text.read("f", b"---\n---\na: 1\n...\n", LIMITS)]
    assert found == [(2, {"a": 1})]


@pytest.mark.parametrize("name", ["values", "depth"])
def test_text_is_refused_when_it_is_over_a_limit(name: str) -> None:
    limits = Limits(**{name: 2})
    with pytest.raises(UploadTooLargeError):
        read_yaml("{a: {b: {c: 1}}}", limits)
    with pytest.raises(UploadTooLargeError):
        read_json(b'{"a": {"b": {"c": 1}}}', limits)


def test_json_may_have_as_many_values_as_the_limit() -> None:
    text = b'{"a": [1, 2]}'
    values = json_shape(text).values
    assert read_json(text, Limits(values=values)) == {"a": [1, 2]}
    with pytest.raises(UploadTooLargeError):
        read_json(text, Limits(values=values - 1))


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("as received, all files together", f"{LIMITS.received_bytes // MIB} MiB"),
        ("unpacked", f"{LIMITS.unpacked_bytes // MIB} MiB, and {LIMITS.gzip_members:,} gzip members in a file"),
        ("nesting", f"{LIMITS.depth} levels"),
        ("lists, objects, fields and items", f"{LIMITS.values:,}"),
        ("values that YAML aliases repeat", f"{LIMITS.alias_values:,}; tag directives: 100"),
        ("objects", f"{LIMITS.objects:,}"),
        ("files", f"{LIMITS.files}"),
        ("files in archives and folders", f"{LIMITS.archive_files:,}"),
    ],
)
def test_limits_are_those_documented(limit: str, value: str) -> None:
    assert f"\n| {limit} | {value} |\n" in (ROOT / "docs" / "import.md").read_text()


@cases(
    "text, depth",
    ("a scalar", b"1", 0),
    ("nested", b'{"a": [1, {"b": 2}], "c": {}}', 3),
    ("brackets in text", b'"[[[["', 0),
    ("brackets behind an escaped quote", rb'{"a": "\"[[[["}', 1),
    ("an escaped backslash before the quote", rb'{"a": "\\"}', 1),
)
def test_json_depth_is_that_of_the_structure(text: bytes, depth: int) -> None:
    read_json(text, Limits(depth=depth))
    if depth:
        with pytest.raises(UploadTooLargeError):
            read_json(text, Limits(depth=depth - 1))


def test_json_check_stays_linear_when_a_text_of_escaped_quotes_has_no_end() -> None:
    with pytest.raises(UnreadableError):
        read_json(b'"' + rb"\"" * 2_000_000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('abc[]{}"\\,: ', max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values.filter(lambda value: value is not None))
def test_yaml_and_json_say_the_same(value: Any) -> None:
    assert read_json(orjson.dumps(value)) == value
    assert read_yaml(yaml.safe_dump(value, allow_unicode=False)) == [value]


@cases(
    "name, content, format_",
    ("JSON", "x", b'  {"a": 1}', Format.JSON),
    ("what begins as JSON is JSON", "x.yaml", b"[a]", Format.JSON),
    ("YAML", "x", b"a: 1", Format.YAML),
    ("CSV by its header", "x", b"sn,cpu_milli,memory_mib,gpu,model\r\n", Format.CSV),
    ("CSV by its name", "x.csv.gz", b"whatever", Format.CSV),
)
def test_format_is_told_from_the_content(name: str, content: bytes, format_: Format) -> None:
    for packed in (content, gzip.compress(content)):
        assert files.measure(Received.of(name, packed), LIMITS) == (format_, len(content))
        assert files.text_of(name, files.unpacked(Upload(name, packed), LIMITS)).format is format_
