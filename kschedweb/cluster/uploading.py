"""How an upload reaches the service: a raw body or a form with files, onto the disk and no further than the limit."""

import tempfile
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from django.core.files.uploadedfile import UploadedFile
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.request import Request

from kschedweb.cluster.intake import limits
from kschedweb.cluster.intake.files import PIECE_BYTES, Received, shown
from kschedweb.cluster.intake.problems import Place, UploadTooLargeError
from kschedweb.common.turns import Turns

DEFAULT_NAME = "upload"
MEMORY_BYTES = 1 << 20  # of a body; more of it lies in a file
# Objects and configurations that requests read and put: up to a second of a core each, with a connection.
PUTTING = Turns(2)


class RawParser(BaseParser):
    """Any body that is no form: the file itself, whatever type it claims to have."""

    media_type = "*/*"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> "DataAndFiles[Any, Any]":
        name = DEFAULT_NAME
        if parser_context is not None:
            name = parser_context["request"].query_params.get("filename", DEFAULT_NAME)[:255] or DEFAULT_NAME
        limit = limits.load().received_bytes
        file = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - it lives as long as the request
        size = 0
        while piece := stream.read(PIECE_BYTES):
            size += len(piece)
            if size > limit:
                raise UploadTooLargeError(Place(name), f"is larger than {limit:,} bytes", limit=limit)
            file.write(piece)
        return DataAndFiles({}, {name: Received(shown(name), cast(BinaryIO, file), size)})


def uploads_of(request: Request) -> list[Received]:
    """The files of the request, in the order they were sent; UploadTooLargeError."""
    limit = limits.load().received_bytes
    files: Any = request.FILES
    sent = [value for _, values in files.lists() for value in values] if hasattr(files, "lists") else files.values()
    found = [value if isinstance(value, Received) else _received(value) for value in sent]
    if sum(received.size for received in found) > limit:
        raise UploadTooLargeError(Place(found[0].name), f"is larger than {limit:,} bytes", limit=limit)
    return found


def content_of(request: Request, most: int) -> bytes:
    """Return the beginning of the upload: at most this number of bytes, and one more if there are more."""
    content = b""
    for received in uploads_of(request):
        for piece in received.pieces():
            content += piece
            if len(content) > most:
                return content[: most + 1]
    return content


def options_of(request: Request) -> dict[str, Any]:
    """Options of the query and of the form; the form's win."""
    form: Any = request.data
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    return {**request.query_params.dict(), **fields}


def _received(file: "UploadedFile[Any]") -> Received:
    return Received(shown(file.name or DEFAULT_NAME)[:255], cast(BinaryIO, file), file.size or 0)
