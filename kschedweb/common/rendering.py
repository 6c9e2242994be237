"""JSON by msgspec: structs, dataclasses and times as they are, and a large snapshot in milliseconds."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

_encoder = msgspec.json.Encoder(enc_hook=JSONEncoder().default)


class MsgspecRenderer(JSONRenderer):
    """REST framework's renderer with another encoder."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else _encoder.encode(data)


def rendered_only(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Drop the objects an answer was made from: while it waits for its reader only its bytes stay. A middleware."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if isinstance(response, Response):
            response.data = None
        return response

    return respond
