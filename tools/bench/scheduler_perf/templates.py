"""Templates of objects: YAML with the actions of Go's text/template that scheduler_perf's files use.

    {{ .Index }}  {{ .Count }}     the number of the object, from 0 on, and how many there are
    {{ div A B }}  {{ mod A B }}   of integers, each a number or one of these fields

Any other action is named as not supported. A template without actions is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.errors import YamlError
from tools.bench.scheduler_perf.problems import NotSupported

Manifest = dict[str, Any]

_BOUNDS: Final = YamlBounds(depth=64, values=100_000, alias_values=10_000)
_ACTION: Final = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_FUNCTIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "div": lambda one, other: one // other,
    "mod": lambda one, other: one % other,
}


class Template:
    """One file; `manifest(index, count)` is the object of that number. Who gets it changes nothing in it."""

    def __init__(self, path: Path) -> None:
        try:
            self._text = path.read_text()
        except OSError as error:
            raise NotSupported(f"template {path.name} cannot be read: {error.strerror}") from error
        self._name = path.name
        self._same = None if _ACTION.search(self._text) else self._read(self._text)

    def manifest(self, index: int = 0, count: int = 1) -> Manifest:
        if self._same is not None:
            return self._same
        fields = {".Index": index, ".Count": count}
        return self._read(_ACTION.sub(lambda found: str(self._value(found[1], fields)), self._text))

    def _value(self, action: str, fields: dict[str, int]) -> int:
        words = action.split()
        function = _FUNCTIONS.get(words[0]) if len(words) == 3 else None
        numbers = [fields.get(word, int(word) if word.isdecimal() else None) for word in words[1 if function else 0 :]]
        known = [number for number in numbers if number is not None]
        if len(known) != len(numbers) or (function is None and (len(words) != 1 or words[0] not in fields)):
            raise NotSupported(f"template {self._name}: the action {{{{{action}}}}}")
        if function is None:
            return known[0]
        if known[1] == 0:
            raise NotSupported(f"template {self._name}: a division by zero in {{{{{action}}}}}")
        return function(*known)

    def _read(self, text: str) -> Manifest:
        try:
            documents = [value for _, value in read_documents(text.encode(), _BOUNDS)]
        except YamlError as error:
            raise NotSupported(f"template {self._name}: {error}") from error
        if len(documents) != 1 or not isinstance(documents[0], dict):
            raise NotSupported(f"template {self._name}: {len(documents)} documents instead of one object")
        return documents[0]
