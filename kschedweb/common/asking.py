"""What a request brings becomes the structs its method asks for; what no struct names is refused.

A parameter of a method that is an Input of kschedweb.views is read before the method runs: `body` from the JSON body,
any other from the query. These structs are all a route takes, and what the OpenAPI document says of it. A refusal is a
ValidationError which names every field that is wrong; of one that is not known it says which are.
"""

import functools
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import msgspec
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from kschedweb.views import Input
from scheduler_core import typed
from scheduler_core.api.manifests import explain

BODY = "body"

I = TypeVar("I", bound=Input)  # noqa: E741 - an Input


class ByHeader(DefaultContentNegotiation):
    """Only the header Accept chooses the form of an answer: `format` is a parameter like any other."""

    settings = cast(Any, SimpleNamespace(URL_FORMAT_OVERRIDE=None))


class AskedView(APIView):
    """A view whose methods say in their annotations all that they take."""

    content_negotiation_class: type[DefaultContentNegotiation] = ByHeader

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks and how often, then read what the method asks for; it is called with `self.kwargs`."""
        super().initial(request, *args, **kwargs)
        name_of_method = "get" if request.method == "HEAD" else (request.method or "").lower()
        method = getattr(type(self), name_of_method, None)
        if method is None:
            return
        taken = dict(inputs_of(method))
        body = taken.pop(BODY, None)
        self.kwargs |= read_query(taken, self.query_of(request))
        if body is not None:
            self.kwargs[BODY] = read(body, request.data, is_text=False)

    def query_of(self, request: Request) -> Mapping[str, Any]:
        """The parameters of the query; the last of those that come twice."""
        return request.query_params.dict()


@functools.cache
def inputs_of(method: Callable[..., Any]) -> Mapping[str, type[Input]]:
    """The inputs a method takes, by the names of its parameters."""
    hints = typing.get_type_hints(method).items()
    return {name: hint for name, hint in hints if isinstance(hint, type) and issubclass(hint, Input)}


def read_query(classes: Mapping[str, type[Input]], query: Mapping[str, Any]) -> dict[str, Input]:
    """Convert the parameters of a query to the inputs that share them. ValidationError by parameter."""
    known = [name for cls in classes.values() for name in _names(cls)]
    found: dict[str, Input] = {}
    problems = _unknown(query, known)
    for name, cls in classes.items():
        try:
            found[name] = read(cls, {key: query[key] for key in _names(cls) if key in query}, is_text=True)
        except ValidationError as error:
            problems |= cast(dict[str, list[str]], error.detail)
    if problems:
        raise ValidationError(problems)
    return found


def read(cls: type[I], data: Any, *, is_text: bool) -> I:
    """Convert what was sent; `is_text`: numbers and booleans come as text. ValidationError by field."""
    try:
        return typed.convert(data, cls, strict=not is_text)
    except msgspec.ValidationError:
        raise ValidationError(_problems(cls, data, is_text)) from None


def refuse_given(given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse fields that were given and are known to others only. ValidationError by field."""
    if problems := _unknown(given, tuple(known)):
        raise ValidationError(problems)


def _problems(cls: type[Input], data: Any, is_text: bool) -> Any:
    """What is wrong with each field; msgspec itself names only the first."""
    if not isinstance(data, Mapping):
        return ["expected an object"]
    found = _unknown(data, _names(cls))
    for field in msgspec.structs.fields(cls):
        if field.encode_name not in data:
            if field.required:
                found[field.encode_name] = ["is required"]
            continue
        try:
            typed.convert(data[field.encode_name], field.type, strict=not is_text)
        except msgspec.ValidationError as error:
            if choices := list(_choices(field.type)):
                found[field.encode_name] = [f"expected one of {', '.join(map(str, choices))}"]
            else:
                told = explain(str(error), data[field.encode_name], field.type, field.encode_name)
                found[told.path] = [told.detail]
    return found


def _unknown(given: Iterable[str], known: Iterable[str]) -> dict[str, list[str]]:
    """Refusals of the fields that are not among the known ones."""
    names = sorted(known)
    told = f"is not known here; known: {', '.join(names)}" if names else "is not known here; nothing is asked for"
    return {name: [told] for name in given if name not in names}


def _names(cls: type[Input]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(cls)]


def _choices(kind: Any) -> Iterator[Any]:
    """The values a type of literals allows."""
    if typing.get_origin(kind) is typing.Literal:
        yield from typing.get_args(kind)
    else:
        for part in typing.get_args(kind):
            yield from _choices(part)
