"""How an upload reaches the service: a raw body or a form with files, read no further than the limit."""

from collections.abc import Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.request import Request

from kschedweb.cluster.intake import limits
from kschedweb.cluster.intake.files import Upload
from kschedweb.cluster.intake.problems import Place, UploadTooLargeError

DEFAULT_NAME = "upload"


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
        content = stream.read(limit + 1)
        if len(content) > limit:
            raise UploadTooLargeError(Place(name), f"is larger than {limit:,} bytes", limit=limit)
        return DataAndFiles({}, {name: Upload(name, content)})


def uploads_of(request: Request) -> list[Upload]:
    """The files of the request, in the order they were sent."""
    limit = limits.load().received_bytes
    files: Any = request.FILES
    sent = [value for _, values in files.lists() for value in values] if hasattr(files, "lists") else files.values()
    found = [value if isinstance(value, Upload) else _read(value, limit) for value in sent]
    if sum(len(upload.content) for upload in found) > limit:
        raise UploadTooLargeError(Place(found[0].name), f"is larger than {limit:,} bytes", limit=limit)
    return found


def options_of(request: Request) -> dict[str, Any]:
    """Options of the query and of the form; the form's win."""
    form: Any = request.data
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    return {**request.query_params.dict(), **fields}


def _read(file: "UploadedFile[Any]", limit: int) -> Upload:
    name = (file.name or DEFAULT_NAME)[:255]
    if (file.size or 0) > limit:
        raise UploadTooLargeError(Place(name), f"is larger than {limit:,} bytes", limit=limit)
    return Upload(name, file.read())
