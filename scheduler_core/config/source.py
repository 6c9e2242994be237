"""Texts of configurations: YAML or JSON, bounded in size and depth before anything is built of them.

Whatever is wrong with a text that can be parsed is collected, and a problem of the document found later is given the
line on which it stands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from scheduler_core.api.json_shape import json_shape
from scheduler_core.api.places import Place, Places, json_places
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.errors import ConfigError, ConfigProblem, YamlError

MAX_TEXT_BYTES: Final = 1_000_000
MOST_PROBLEMS: Final = 100
_BOUNDS: Final = YamlBounds(depth=64, values=100_000, alias_values=10_000)
_LONGEST_NUMBER: Final = 250
_UNREADABLE: Final = "cannot be read as YAML or JSON"


def parse_text(text: str | bytes) -> Mapping[str, Any]:
    """The document of a text, every text in it one that can be stored; ConfigError with every problem."""
    source = Source(text)
    if source.problems:
        raise ConfigError(source.located(source.problems))
    return source.document


class Source:
    """A document and, where it is of a text, its places.

    `problems` are those of the text itself, `is_readable` False when there is no document because of them; `lost` are
    paths of numbers that cannot be kept.
    """

    def __init__(self, given: str | bytes | Mapping[str, Any]) -> None:
        self.document: Mapping[str, Any] = {}
        self.problems: tuple[ConfigProblem, ...] = ()
        self.is_readable = True
        self.lost: list[str] = []
        self._content = b""
        self._is_json = False
        self._places: Places | None = None
        if isinstance(given, Mapping):
            self.document = given
            return
        self._content = given.encode(errors="surrogatepass") if isinstance(given, str) else given
        self._is_json = self._content.lstrip().startswith(b"{")
        try:
            document, problems = self._read()
        except ConfigError as error:
            self.problems, self.is_readable = error.details, False
            return
        self.document = document
        self.problems = (*problems, *_odd_texts(document, ""))

    def located(self, problems: Iterable[ConfigProblem]) -> tuple[ConfigProblem, ...]:
        """The problems in the order of their lines, as many as are told; named items have their number in the path."""
        found = [self._located(problem) for problem in list(problems)[:MOST_PROBLEMS]]
        return tuple(sorted(found, key=lambda problem: problem.line))

    def _located(self, problem: ConfigProblem) -> ConfigProblem:
        if problem.item:
            problem = replace(problem, path=self._item_path(problem.path, problem.item), item="")
        if problem.line or not self.is_readable or not self._content:
            return problem
        root = self._all_places().root
        return replace(problem, line=_line(root, problem)) if root is not None else problem

    def _item_path(self, path: str, name: str) -> str:
        """The path of the last item of that name; of the list where it has none."""
        items = value_at(self.document, path)
        if isinstance(items, list):
            for index in reversed(range(len(items))):
                if isinstance(items[index], dict) and items[index].get("name") == name:
                    return f"{path}[{index}]"
        return path

    def _read(self) -> tuple[dict[str, Any], list[ConfigProblem]]:
        content = self._content
        if len(content) > MAX_TEXT_BYTES:
            raise ConfigError([f"the configuration is larger than {MAX_TEXT_BYTES} bytes"])
        try:
            content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise ConfigError([ConfigProblem("", f"the configuration is not UTF-8 text: {error}", line=line)]) from None
        document, problems = self._json() if self._is_json else self._yaml()
        if not isinstance(document, dict):
            raise ConfigError([ConfigProblem("", "expected an object with apiVersion and kind at the top", line=1)])
        return document, problems

    def _json(self) -> tuple[Any, list[ConfigProblem]]:
        shape = json_shape(self._content)
        if shape.depth > _BOUNDS.depth:
            raise ConfigError([f"{_UNREADABLE}: is nested more than {_BOUNDS.depth} deep"])
        if shape.values > _BOUNDS.values:
            raise ConfigError([f"{_UNREADABLE}: has more than {_BOUNDS.values:,} values"])
        reader = _JsonReader()
        try:
            document = reader.read(self._content)
        except json.JSONDecodeError as error:
            raise ConfigError([ConfigProblem("", f"{_UNREADABLE}: {error}", line=error.lineno)]) from None
        return document, self._json_problems() if reader.is_odd else []

    def _json_problems(self) -> list[ConfigProblem]:
        places = self._all_places()
        problems = [
            _twice(found.path, f'strict decoding error: duplicate field "{found.text[:100]}"', found.line)
            for found in places.duplicates
        ]
        for number in places.numbers:
            if _is_too_long(number.text):
                message = f"a number of {len(number.text)} digits is too long"
            elif not math.isfinite(float(number.text)):
                message = f"{number.text[:100]} is no number that JSON knows"
            else:
                continue
            self.lost.append(number.path)
            problems.append(ConfigProblem(number.path, message, line=number.line, sentence=message))
        return problems

    def _yaml(self) -> tuple[Any, list[ConfigProblem]]:
        problems: list[ConfigProblem] = []
        try:
            try:
                documents = [value for _, value in read_documents(self._content, _BOUNDS)]
            except YamlError as error:
                if error.key is None:
                    raise
                documents, problems = self._yaml_with_duplicates()
        except YamlError as error:
            raise ConfigError([ConfigProblem("", f"{_UNREADABLE}: {error}", line=error.line)]) from None
        if len(documents) > 1:
            raise ConfigError([f"expected one document, got {len(documents)}"])
        return documents[0] if documents else None, problems

    def _yaml_with_duplicates(self) -> tuple[list[Any], list[ConfigProblem]]:
        places = self._places = Places()
        documents = [value for _, value in read_documents(self._content, _BOUNDS, places=places)]
        problems = [
            _twice(
                found.path,
                f'strict decoding error: line {found.line}: key "{found.text[:100]}" already set in map',
                found.line,
            )
            for found in places.duplicates
        ]
        return documents, problems

    def _all_places(self) -> Places:
        if self._places is None:
            if self._is_json:
                self._places = json_places(self._content.decode())
            else:
                self._places = Places()
                for _ in read_documents(self._content, _BOUNDS, places=self._places):
                    pass
        return self._places


def value_at(value: Any, path: str) -> Any:
    """The value at `a.b[0].c`; None where there is none."""
    for step in path.replace("[", ".[").split("."):
        if step.startswith("["):
            index = int(step[1:-1])
            value = value[index] if isinstance(value, list) and index < len(value) else None
        elif step:
            value = value.get(step) if isinstance(value, dict) else None
    return value


class _JsonReader:
    """Reads a JSON text to its end, and notes whether there was anything in it that is refused."""

    def __init__(self) -> None:
        self.is_odd = False

    def read(self, content: bytes) -> Any:
        return json.loads(
            content,
            object_pairs_hook=self._pairs,
            parse_int=self._integer,
            parse_float=self._finite,
            parse_constant=self._finite,
        )

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        self.is_odd |= len(found) < len(pairs)
        return found

    def _integer(self, digits: str) -> int:
        if _is_too_long(digits):
            self.is_odd = True
            return 0
        return int(digits)

    def _finite(self, text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            self.is_odd = True
            return 0.0
        return value


def _is_too_long(number: str) -> bool:
    return len(number) > _LONGEST_NUMBER and number.lstrip("-").isdecimal()


def _twice(path: str, sentence: str, line: int) -> ConfigProblem:
    return ConfigProblem(path, sentence, "the field twice", "each field once", line=line, sentence=sentence)


def _line(root: Place, problem: ConfigProblem) -> int:
    line, is_there = root.find(problem.path)
    if is_there:
        return line
    # What is wrong may be a default, because of something else that was written.
    for path in problem.also:
        other, is_there = root.find(path)
        if is_there:
            return other
    return line


def _odd_texts(value: Any, path: str) -> Iterator[ConfigProblem]:
    """Problems of texts that cannot be stored: half a character, or one of code 0."""
    if isinstance(value, str):
        if "\0" in value:
            yield ConfigProblem(path, "has a character of code 0")
        elif not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            yield ConfigProblem(path, "has half a character (a surrogate without its other half)")
    elif isinstance(value, dict):
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            for problem in _odd_texts(name, below):
                yield replace(problem, sentence=f"{below!r}: {problem.message}")
            yield from _odd_texts(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _odd_texts(item, f"{path}[{index}]")
