"""What can be wrong with an upload, in words that say where: file, document, item, object, field."""

from dataclasses import dataclass
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
        super().__init__(f"{place}: {detail}", **_extra(place))


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


def _extra(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {"file": place.file}
    for name in ("document", "item", "line"):
        if number := getattr(place, name):
            found[name] = number
    return found
