"""The OpenAPI document (kschedweb.rest.openapi), as it is and as a page for people."""

from typing import Any, Literal

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from msgspec import UNSET, UnsetType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from kschedweb import views
from kschedweb.common.asking import AskedView
from kschedweb.common.rendering import MsgspecRenderer


class RefusingView(AskedView):
    """Refusals are JSON as everywhere, whatever form the answer would have had."""

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if response.exception:
            request.accepted_renderer, request.accepted_media_type = MsgspecRenderer(), MsgspecRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


class SchemaQuery(views.Input):
    """In which form the document is wanted, whatever the header Accept says."""

    format: Literal["yaml", "json"] | UnsetType = UNSET


class SchemaView(RefusingView, SpectacularAPIView):
    """The document."""

    content_negotiation_class = DefaultContentNegotiation

    @extend_schema(exclude=True)
    def get(self, request: Request, query: SchemaQuery) -> Response:
        answer: Response = super().get(request)  # type: ignore[no-untyped-call]
        return answer


class PageScriptQuery(views.Input):
    """`script` asks for the script of the page."""

    script: str | UnsetType = UNSET


class SchemaPageView(RefusingView, SpectacularSwaggerSplitView):
    """The document as a page for people."""

    @extend_schema(exclude=True)
    def get(self, request: Request, query: PageScriptQuery) -> Response:
        answer: Response = super().get(request)  # type: ignore[no-untyped-call]
        return answer
