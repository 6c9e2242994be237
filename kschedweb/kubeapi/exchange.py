"""A request as the API reads it, and an answer before it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kschedweb.kubeapi.written import json_of
from scheduler_core.apiserver.answers import Status

JSON: Final = "application/json"
YAML: Final = "application/yaml"
TEXT: Final = "text/plain; charset=utf-8"
Query = dict[str, list[str]]


class Request(msgspec.Struct):
    """One request. `path` begins below the cluster; names of headers are in lower case.

    `at`: the moment it is about, as the address has it; None: the present.
    """

    cluster: str
    method: str
    path: str
    query: Query
    headers: Mapping[str, str]
    body: bytes = b""
    at: str | None = None

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


class Answer(msgspec.Struct):
    """What is sent: `body` is bytes, or values to be written in the media type that was agreed on."""

    code: int
    body: Any = b""
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        if self.media_type.startswith(YAML):
            import yaml

            return yaml.dump(
                self.body, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), default_flow_style=False
            ).encode()
        return json_of(self.body)


class RefusedError(Exception):
    """The request ends with this Status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def status_answer(status: Status) -> Answer:
    headers = (("retry-after", str(status.retry_after_seconds)),) if status.retry_after_seconds else ()
    return Answer(status.code, status.manifest(), headers=headers)


def text(code: int, content: str) -> Answer:
    return Answer(code, content.encode(), TEXT, (("x-content-type-options", "nosniff"),))


def page_not_found() -> Answer:
    """What there is at paths that name no version of the API."""
    return text(404, "404 page not found\n")


NO_SUCH_RESOURCE: Final = Status(404, "NotFound", "the server could not find the requested resource", is_generic=True)
METHOD_NOT_ALLOWED: Final = Status(
    405, "MethodNotAllowed", "the server does not allow this method on the requested resource", is_generic=True
)
UNAUTHORIZED: Final = Status(401, "Unauthorized", "Unauthorized")
