"""A query is read as it is written, and what is wrong in it is pointed at."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kschedweb import views
from kschedweb.cluster.choices import Operation
from kschedweb.environment import ROOT
from kschedweb.query import KEYS, LISTS, QueryError, Term, completion, help_text, parse, written
from kschedweb.query.keys import OPERATIONS, PLACES, RESULTS
from kschedweb.query.terms import MOST_NUMBER, MOST_SECONDS, MOST_TERMS, PROBLEMS
from kschedweb.traces.choices import Queue, Result
from kschedweb.traces.selectors.lists import SOURCES
from tests.cases import cases
from tests.examples import examples

PODS = LISTS["pods"]


@cases(
    "text, terms",
    ("nothing", "", ()),
    ("a word", "  web \t", (Term("", "", ("web",)),)),
    ("a key", "ns:web", (Term("ns", ":", ("web",)),)),
    ("a key in capitals", "NS:web", (Term("ns", ":", ("web",)),)),
    ("a word in capitals", "status:PENDING", (Term("status", ":", ("pending",)),)),
    ("a word of two", "status:errorbackoff", (Term("status", ":", ("errorBackoff",)),)),
    ("alternatives", "ns:a,b", (Term("ns", ":", ("a", "b")),)),
    ("negated", "-ns:a -b", (Term("ns", ":", ("a",), True), Term("", "", ("b",), True))),
    ("minutes", "age>10m", (Term("age", ">", (600,)),)),
    ("hours and minutes", "age<=1h30m", (Term("age", "<=", (5400,)),)),
    ("no time", "age>0s", (Term("age", ">", (0,)),)),
    ("a negative number", "priority>-5", (Term("priority", ">", (-5,)),)),
    ("equal numbers", "attempts:1,2", (Term("attempts", ":", (1, 2)),)),
    ("quotes", 'reason:"Insufficient cpu"', (Term("reason", ":", ("Insufficient cpu",)),)),
    ("quotes in quotes", r'reason:"a \"b\" \\ c\d"', (Term("reason", ":", ('a "b" \\ c\\d',)),)),
    ("a word like a key", '"ns:web"', (Term("", "", ("ns:web",)),)),
    ("a colon in a value", "reason:a:b", (Term("reason", ":", ("a:b",)),)),
    ("any letters", "ns:web-*", (Term("ns", ":", ("web-*",)),)),
)
def test_text_is_read(text: str, terms: tuple[Term, ...]) -> None:
    assert parse(text, PODS) == terms
    assert parse(written(terms), PODS) == terms


@cases(
    "text, place, told",
    ("an unknown key", "web foo:x", "foo", "pods have no key 'foo'; known: status, ns,"),
    ("a name is compared", "ns>web", ">", "ns takes :"),
    ("an exact age", "age:10m", ":", "age takes > <"),
    ("no value", "x status:", "status:", "a value for status is missing"),
    ("an empty alternative", "ns:a,,b", "ns:a,,b", "a value for ns is missing"),
    ("nothing is negated", "a -", "-", "a word is missing"),
    ("empty quotes", 'a ""', '""', "a word is missing"),
    ("an unknown word", "status:pending,odd", "odd", "status is one of pending, active,"),
    ("no number", "attempts>few", "few", "attempts is a whole number of at most 2147483647"),
    ("a large number", "attempts>3000000000", "3000000000", "attempts is a whole number"),
    ("digits of another script", "attempts>٣", "٣", "attempts is a whole number"),
    ("above one of two", "attempts>1,2", ",2", "attempts> takes one value"),
    ("no unit", "age>10", "10", "age is a time such as 90s, 10m, 1h30m or 2d"),
    ("units in another order", "age>10m5h", "10m5h", "age is a time"),
    ("longer than a century", "age>99999w", "99999w", "age is a time"),
    ("an open quote", 'ns:"web', '"web', "the quote is not closed"),
    ("letters after a quote", 'ns:"web"x', "x", "a quote ends a value"),
    ("a quote in the middle", 'ns:we"b"', '"', "a quote stands around a whole value"),
    ("a NUL", "ns:a\0b", "a\0b", "no text holds a character of code 0"),
    ("many terms", "a " * (MOST_TERMS + 1), "a", f"at most {MOST_TERMS} terms"),
)
def test_wrong_text_is_pointed_at(text: str, place: str, told: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text, PODS)
    assert refused.value.message.startswith(told)
    assert text[refused.value.at : refused.value.end].startswith(place)


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_whatever_is_wrong_has_a_text_in_the_browser(language: str) -> None:
    texts = json.loads((ROOT / "frontend" / "src" / "i18n" / f"{language}.json").read_text())
    values = {f"lists.wrong.{name}": set(re.findall(r"{(\w+)", text)) for name, text in PROBLEMS.items()}
    there = {name: set(re.findall(r"{(\w+)", text)) for name, text in texts.items() if name.startswith("lists.wrong.")}
    assert there.keys() == values.keys()
    assert {name for name in there if not there[name] <= values[name]} == set()


def values_of(name: str, wanted: Any) -> st.SearchStrategy[Any]:
    match KEYS[name].kind:
        case "word":
            return st.sampled_from(wanted.words[name])
        case "number":
            return st.integers(-MOST_NUMBER, MOST_NUMBER)
        case "span":
            return st.integers(0, MOST_SECONDS)
    return st.text(st.characters(exclude_characters="\0"), min_size=1)


@st.composite
def queries(draw: st.DrawFn) -> tuple[Any, tuple[Term, ...]]:
    wanted = draw(st.sampled_from(list(LISTS.values())))
    terms = []
    for name in draw(st.lists(st.sampled_from(["", *wanted.keys]), max_size=6)):
        if not name:
            values, operator = st.text(st.characters(exclude_characters="\0"), min_size=1), ""
        else:
            values, kind = values_of(name, wanted), KEYS[name].kind
            operators = {"span": "<>", "number": ":<>"}.get(kind, ":")
            operator = draw(st.sampled_from(operators))
            if operator != ":":
                operator += draw(st.sampled_from(["", "="]))
        most = 1 if operator.startswith(("<", ">")) else 3
        found = tuple(draw(st.lists(values, min_size=1, max_size=most)))
        terms.append(Term(name, operator, found, draw(st.booleans())))
    return wanted, tuple(terms)


@examples(300)
@given(queries())
@example((PODS, (Term("", "", ("-web",), False),)))
@example((PODS, (Term("", "", ("node:n1",), True),)))
def test_terms_come_back_from_their_text(query: tuple[Any, tuple[Term, ...]]) -> None:
    wanted, terms = query
    text = written(terms)
    assert parse(text, wanted) == terms
    assert written(parse(text, wanted)) == text


PIECES = [*KEYS, *':<>=-,"\\ *x٣\0', "10m", "pending", "ns:", "-", '"a b"', "age>", "é"]


@examples(500)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_read_or_pointed_at(text: str) -> None:
    try:
        terms = parse(text, PODS)
    except QueryError as error:
        assert 0 <= error.at < error.end <= len(text)
    else:
        assert parse(written(terms), PODS) == terms


@examples(200)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.integers(0, 60))
def test_completion_stays_within_the_text(text: str, caret: int) -> None:
    found = completion(text, caret, PODS, lambda key, part: ["web", "a b"])
    assert 0 <= found.at <= found.end <= len(text)


@cases(
    "text, at, options",
    ("keys", "", 0, "status: ns: node: owner: plugin: reason: profile: priority> age> attempts> result:"),
    ("a key that is begun", "web pl", 4, "plugin:"),
    ("a key that is negated", "-st", 1, "status:"),
    ("words", "status:un", 7, "unschedulable unseen unknown"),
    ("no word begins so", "status:active,sc", 14, ""),
    ("the second of two", "status:active,run", 14, "running"),
    ("values, those that begin so first", "ns:w", 3, "web awe"),
    ("times", "age>1", 4, ""),
    ("an unknown key", "foo:", 0, ""),
    ("in quotes", 'reason:"x y', 7, '"x y z"'),
    ("a comma in quotes", 'reason:"x, y', 7, '"x, y"'),
    ("in quotes after a comma", 'reason:a,"x y', 9, '"x y z"'),
    ("after a backslash that stands for itself", '"a\\\\" st', 6, "status:"),
    ("a quote that stands for itself", '"a\\" st', 0, ""),
)
def test_completion_of_what_is_begun(text: str, at: int, options: str) -> None:
    known = {"ns": ["web", "awe", "shop"], "reason": ["x y z", "x, y"]}
    found = completion(text, len(text), PODS, lambda key, part: known.get(key, ()))
    assert found.at == at
    assert " ".join(option.strip() for option in found.options) == options


@cases(
    "text, caret, replaced",
    ("quotes, to their end", 'reason:"x y" ns:w', 9, '"x y"'),
    ("quotes with a comma", 'reason:"x, y",b ns:w', 10, '"x, y"'),
    ("quotes that are not closed", 'reason:"x ns:w', 9, '"x'),
    ("a value, to the comma", "ns:web,shop x", 4, "web"),
)
def test_completion_replaces_the_whole_value(text: str, caret: int, replaced: str) -> None:
    found = completion(text, caret, PODS, lambda key, part: ())
    assert text[found.at : found.end] == replaced


def test_table_is_whole() -> None:
    """What is read from it elsewhere is there: words of the database, columns and conditions of each list."""
    assert (*PLACES,) == tuple(Queue.values)
    assert (*RESULTS,) == tuple(Result.values) == views.Result.__args__
    assert (*OPERATIONS,) == tuple(Operation.values)
    assert SOURCES.keys() == LISTS.keys()
    for name, one in LISTS.items():
        source = SOURCES[name]
        assert list(source.columns) == [column.name for column in one.columns]
        assert {*source.conditions, *(("plugin", "reason") if source.rejections else ())} == {"", *one.keys}
        assert {key for key in one.keys if KEYS[key].kind == "word"} == set(one.words)
        assert one.sort in one.sorts
        for key in one.keys:
            assert f"\n{key}" in f"\n{help_text(one)}"
