"""How a method's return value becomes a response: a struct is 200, `Created` 201, `Accepted` 202, None 204."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from django.http.response import HttpResponseBase
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

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


class RestView(APIView):
    """A view whose methods return structs; their annotations are what the OpenAPI document says of the answer."""

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, Created | Accepted):
            response = Response(response.view, status=response.status, headers=dict(response.headers))
        elif response is None:
            response = Response(status=status.HTTP_204_NO_CONTENT)
        elif not isinstance(response, HttpResponseBase):
            response = Response(response)
        return super().finalize_response(request, response, *args, **kwargs)
