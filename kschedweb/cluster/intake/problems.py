"""What can be wrong with an upload, in words that say where: file, document, item, object, field."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kschedweb.common.errors import ApplicationError, InvalidError


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an upload something stands; documents and items count from 1, 0 means not applicable."""

    file: str
    document: int = 0
    item: int = 0
    line: int = 0

    def __str__(self) -> str:
        text = self.file
        if self.document:
            text += f": document {self.document}"
        if self.item:
            text += f", item {self.item}"
        if self.line:
            text += f": line {self.line}"
        return text


class UnreadableError(ApplicationError):
    """The bytes are not what their format asks for."""

    code = "upload_unreadable"

    def __init__(self, place: Place, detail: str) -> None:
        super().__init__(f"{place}: {detail}", **_extra(place), detail=detail)


class UploadTooLargeError(ApplicationError):
    """A limit was met before the upload's end."""

    code = "upload_too_large"
    status_code = 413

    def __init__(self, place: Place, detail: str, **extra: Any) -> None:
        super().__init__(f"{place}: {detail}", **_extra(place), **extra)


class UploadInvalidError(InvalidError):
    """An object of the upload cannot be taken: `field` says where in it, `detail` what was expected."""

    code = "upload_invalid"

    def __init__(self, place: Place, name: str, field: str, detail: str) -> None:
        where = f"{place} ({name})" if name else str(place)
        super().__init__(
            f"{where}: {field}: {detail}" if field else f"{where}: {detail}",
            **_extra(place),
            object=name,
            field=field,
            detail=detail,
        )


class UploadRefusedError(InvalidError):
    """Several parts of an upload cannot be taken: `refused` lists them as reports do."""

    code = "upload_refused"


@dataclass(slots=True)
class Refusals:
    """What cannot be taken of an upload: all of it is counted, and the first ones are kept as reports list them."""

    most_listed: int = 1000
    listed: list[dict[str, Any]] = field(default_factory=list)
    total: int = 0
    _first: ApplicationError | None = None

    def add(self, problem: UnreadableError | UploadInvalidError) -> None:
        self.total += 1
        self._first = self._first or problem
        if len(self.listed) < self.most_listed:
            told = {"message": problem.message, "object": "", "field": "", **problem.extra}
            # They are stored, and a character of code 0 cannot be.
            self.listed.append({key: _storable(value) for key, value in told.items()})

    @contextmanager
    def noting(self) -> Iterator[None]:
        """What is raised inside because something cannot be taken is added, and raised no further."""
        try:
            yield
        except (UnreadableError, UploadInvalidError) as problem:
            self.add(problem)

    def check(self) -> None:
        """Raise what there is: one as it is, several as an UploadRefusedError."""
        if self._first is None:
            return
        if self.total == 1:
            raise self._first
        raise UploadRefusedError(
            f"{self.total:,} parts of the upload cannot be taken",
            refused=self.listed,
            refused_total=self.total,
        )


def _storable(value: Any) -> Any:
    return value.replace("\0", "\\0") if isinstance(value, str) else value


def _extra(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {"file": place.file}
    for name in ("document", "item", "line"):
        if number := getattr(place, name):
            found[name] = number
    return found
