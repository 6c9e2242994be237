"""Lists of a cluster that are asked by a query: their rows, and what there is to ask (kschedweb.query)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.query import LISTS
from kschedweb.query.keys import GRAMMAR, form_of
from kschedweb.query.keys import KEYS as KNOWN
from kschedweb.views.base import AtQuery, Input, View, doc, number, text

_KEYS = "; ".join(f"{one.name}: {' '.join(form_of(KNOWN[key]) for key in one.keys)}" for one in LISTS.values())
_COLUMNS = "; ".join(f"{one.name}: {', '.join(column.name for column in one.columns)}" for one in LISTS.values())
LONGEST = 1000

Cell = str | int | None


class Listed(View):
    """A page of a list."""

    results: Annotated[Sequence[Mapping[str, Cell]], doc("by column; moments are times in UTC, durations microseconds")]
    total: Annotated[int | None, doc("of all rows on all pages; null on those after the first")]
    next: Annotated[str | None, doc("address of the next page; null on the last")]


class ListColumn(View):
    """A column of a list."""

    name: str
    form: Literal["text", "number", "moment", "duration"]
    shown: Annotated[bool, doc("until somebody chooses columns")]


class ListKey(View):
    """A key by which a list is asked."""

    name: str
    kind: Annotated[
        Literal["word", "name", "part", "number", "span"],
        doc("name: a whole one, `*` stands for any letters; part: of a text; span: a length of time"),
    ]
    begins: Annotated[str, doc("how a term with it begins")]
    text: Annotated[str, doc("what it is compared with")]
    words: Annotated[Sequence[str], doc("all that a key of kind word takes")]


class ListHelp(View):
    """What a list shows, and how it is asked."""

    name: str
    text: str
    columns: Sequence[ListColumn]
    keys: Sequence[ListKey]
    free: Annotated[str, doc("what free words are part of")]
    sort: Annotated[str, doc("its order until another is asked for")]


class Lists(View):
    """All lists."""

    lists: Sequence[ListHelp]
    grammar: Annotated[Sequence[str], doc("of all of them")]


class ListCompletion(View):
    """What can stand at a place of a query; an option replaces the text from `at` to `end`."""

    at: int
    end: int
    options: Sequence[str]


class ListFilter(AtQuery):
    """Which rows, of which moment, in which order."""

    q: Annotated[str, text(LONGEST, f"{' '.join(GRAMMAR)} Keys of {_KEYS}.", least=0)] = ""
    sort: Annotated[str, text(64, f"a column, after `-` downwards. Columns of {_COLUMNS}.")] | UnsetType = UNSET


class ListQuery(ListFilter):
    """Which page of which rows."""

    cursor: Annotated[str, text(4000, "from `next` of another page")] | UnsetType = UNSET
    limit: Annotated[int, number(1, 1000, "of the rows in one page")] = 100


class ListExportQuery(ListFilter):
    """Which rows and columns."""

    columns: Annotated[str, text(1000, "names with commas between them; those shown at first when left out")] | (
        UnsetType
    ) = UNSET


class CompletionQuery(Input):
    """Where in which query somebody is writing."""

    q: Annotated[str, text(LONGEST, least=0)] = ""
    at: Annotated[int, number(0, LONGEST, "place in the text, in characters")] = 0


def lists() -> Lists:
    """The table of lists, as the contract has it."""
    return Lists([_help(name) for name in LISTS], GRAMMAR)


def _help(name: str) -> ListHelp:
    one = LISTS[name]
    keys = [
        ListKey(key, KNOWN[key].kind.value, form_of(KNOWN[key]), KNOWN[key].text, one.words.get(key, ()))
        for key in one.keys
    ]
    columns = [ListColumn(column.name, column.form.value, column.shown) for column in one.columns]
    return ListHelp(name, one.text, columns, keys, one.free, one.sort)
