"""JSON by orjson: dataclasses and times as they are, and a large snapshot in milliseconds."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder


class OrjsonRenderer(JSONRenderer):
    """REST framework's renderer with another encoder."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        return orjson.dumps(data, default=JSONEncoder().default)
