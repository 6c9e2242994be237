"""How a method answers: its return value becomes a response. How it is called: kschedweb.common.asking.

A struct is 200, `Created` 201, `Accepted` 202, None 204.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from django.http.response import HttpResponseBase
from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from kschedweb.cluster import gone
from kschedweb.common.asking import AskedView
from kschedweb.common.errors import ClusterGoneError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Created(Generic[T]):
    """An answer that says something was made."""

    view: T
    headers: Mapping[str, str] = field(default_factory=dict)
    status: ClassVar[int] = status.HTTP_201_CREATED


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T]):
    """An answer that says something will be done."""

    view: T
    headers: Mapping[str, str] = field(default_factory=dict)
    status: ClassVar[int] = status.HTTP_202_ACCEPTED


class RestView(AskedView):
    """A view whose methods take and return structs; their annotations are what the OpenAPI document says of both."""

    def handle_exception(self, exc: Exception) -> Response:
        """What fails because its cluster was deleted meanwhile is no failure of its own."""
        cluster_id = self.kwargs.get("cluster_id")
        # Those of REST framework say what is wrong with the request, whatever it is about.
        if cluster_id is not None and not isinstance(exc, APIException) and gone.explains(exc, cluster_id):
            exc = ClusterGoneError(cluster_id)
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        cluster_id = self.kwargs.get("cluster_id")
        if cluster_id is not None and request.method in SAFE_METHODS and not isinstance(response, HttpResponseBase):
            # Only now is it sure that nothing was missing when it was read.
            try:
                gone.check(cluster_id)
            except ClusterGoneError as error:
                response = self.handle_exception(error)
        if isinstance(response, Created | Accepted):
            response = Response(response.view, status=response.status, headers=dict(response.headers))
        elif response is None:
            response = Response(status=status.HTTP_204_NO_CONTENT)
        elif not isinstance(response, HttpResponseBase):
            response = Response(response)
        return super().finalize_response(request, response, *args, **kwargs)
