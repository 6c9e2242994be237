"""JSON by orjson: dataclasses and times as they are, and a large snapshot in milliseconds."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder


class OrjsonRenderer(JSONRenderer):
    """REST framework's renderer with another encoder."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        return orjson.dumps(data, default=JSONEncoder().default)


def rendered_only(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: an answer that waits for its reader is its bytes, without the objects they were made from."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if isinstance(response, Response):
            response.data = None
        return response

    return respond
