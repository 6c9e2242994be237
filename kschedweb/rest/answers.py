"""How a method is called and answers: its inputs are read from the request, and its return value becomes a response.

A struct is 200, `Created` 201, `Accepted` 202, None 204.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from django.http.response import HttpResponseBase
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.rest.inputs import BODY, inputs_of, read

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
    """A view whose methods take and return structs; their annotations are what the OpenAPI document says of both."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks and how often, then read what the method asks for; it is called with `self.kwargs`."""
        super().initial(request, *args, **kwargs)
        name_of_method = "get" if request.method == "HEAD" else (request.method or "").lower()
        method = getattr(type(self), name_of_method, None)
        for name, cls in inputs_of(method).items() if method is not None else ():
            data = request.data if name == BODY else self.query_of(request)
            self.kwargs[name] = read(cls, data, is_text=name != BODY)

    def query_of(self, request: Request) -> Mapping[str, Any]:
        """The parameters of the query; the last of those that come twice."""
        return request.query_params.dict()

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, Created | Accepted):
            response = Response(response.view, status=response.status, headers=dict(response.headers))
        elif response is None:
            response = Response(status=status.HTTP_204_NO_CONTENT)
        elif not isinstance(response, HttpResponseBase):
            response = Response(response)
        return super().finalize_response(request, response, *args, **kwargs)
