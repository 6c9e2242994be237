"""The language in which lists are asked, and what there is to ask: pure, so that the command line can use it too.

keys.py        the one table: lists, their columns, their keys
terms.py       a text becomes terms, and terms become a text
completion.py  what can stand where somebody is writing
"""

from kschedweb.query.completion import Completion, completion
from kschedweb.query.keys import KEYS, LISTS, Column, Form, Key, Kind, ListOf, help_text, list_of
from kschedweb.query.terms import OPERATORS, QueryError, Term, parse, written

__all__ = [
    "KEYS",
    "LISTS",
    "OPERATORS",
    "Column",
    "Completion",
    "Form",
    "Key",
    "Kind",
    "ListOf",
    "QueryError",
    "Term",
    "completion",
    "help_text",
    "list_of",
    "parse",
    "written",
]
