"""The OpenAPI document: operations from the views' methods, what they take and answer from kschedweb.views.

So are the messages of the WebSocket.

The document is the same for everybody, and is made once per process.
"""

import inspect
import threading
import typing
from typing import Any

import msgspec
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from kschedweb import views
from kschedweb.accounts.authentication import TokenAuthentication
from kschedweb.common.asking import BODY, inputs_of
from kschedweb.rest.answers import Accepted, Created

METHODS = ("get", "post", "put", "patch", "delete")
UNIONS = ("ChangeLogEvent", "EngineLogEvent", "LiveEvent", "Message")
SOCKET = "/ws/clusters/{cluster_id}/"
Schema = dict[str, Any]

_FOLDER = "#/components/schemas/"
_lock = threading.Lock()  # drf-spectacular fails when two threads make their first document at once
_made: dict[str | None, Schema] = {}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tokens in the header `Authorization`; drf-spectacular finds this class once it is imported."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class Operation(AutoSchema):
    """Describe an operation by its method: docstring, annotations, and the module as its tag."""

    def get_operation_id(self) -> str:
        return f"{type(self.view).__name__.removesuffix('View')}_{self.method.lower()}"

    def get_tags(self) -> list[str]:
        return [type(self.view).__module__.rpartition(".")[2]]

    def get_summary(self) -> str:
        return self._docstring().partition("\n")[0]

    def get_description(self) -> str:  # type: ignore[override]
        return self._docstring().partition("\n")[2].strip()

    def get_response_serializers(self) -> Any:
        answer = typing.get_type_hints(self._method())["return"]
        members = typing.get_args(answer) if typing.get_origin(answer) is typing.Union else (answer,)
        return dict(map(_response, members))

    def get_override_parameters(self) -> list[Any]:
        taken = inputs_of(self._method().__func__)
        return [parameter for name, cls in taken.items() if name != BODY for parameter in _parameters(cls)]

    def get_request_serializer(self) -> Any:
        body = inputs_of(self._method().__func__).get(BODY)
        return None if body is None else {"application/json": schema_of(body)}

    def _get_request_body(self, direction: Any = "request") -> Any:
        described = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        body = inputs_of(self._method().__func__).get(BODY)
        if body is not None and any(field.required for field in msgspec.structs.fields(body)):
            described["required"] = True
        return described

    def _method(self) -> Any:
        return getattr(self.view, self.method.lower())

    def _docstring(self) -> str:
        return inspect.getdoc(self._method()) or ""


def _response(answer: Any) -> tuple[int, Schema | None]:
    """Status and schema of one kind of answer; no schema without a body."""
    if answer is type(None):
        return 204, None
    origin = typing.get_origin(answer)
    if origin is Created or origin is Accepted:
        return origin.status, schema_of(typing.get_args(answer)[0])
    return 200, schema_of(answer)


def schema_of(type_: Any) -> Schema:
    """A schema that refers to the components of the document."""
    return msgspec.json.schema_components([type_], ref_template=f"{_FOLDER}{{name}}")[0][0]


def _parameters(cls: type[views.Input]) -> list[OpenApiParameter]:
    """The parameters of a query."""
    _, components = msgspec.json.schema_components([cls], ref_template=f"{_FOLDER}{{name}}")
    schema = components[cls.__name__]
    return [
        OpenApiParameter(
            name=name,
            type={key: value for key, value in part.items() if key != "description"},
            required=name in schema["required"],
            description=part.get("description", ""),
        )
        for name, part in schema["properties"].items()
    ]


class Generator(SchemaGenerator):
    """Keeps the document: making it takes a second."""

    def get_schema(self, request: Any = None, public: bool = False) -> Schema:
        with _lock:
            if not public:
                return self._make(request, public)
            if self.api_version not in _made:
                _made[self.api_version] = self._make(request, public)
            return _made[self.api_version]

    def _make(self, request: Any, public: bool) -> Schema:
        made: Schema = super().get_schema(request, public)  # type: ignore[no-untyped-call]
        return made


def add_views(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Add every view and message as a component. A hook of drf-spectacular, run when the document is made."""
    known = [cls for cls in vars(views).values() if isinstance(cls, type) and issubclass(cls, msgspec.Struct)]
    structs = [cls for cls in known if cls not in (views.View, views.Page, views.Input)]
    _, components = msgspec.json.schema_components(structs, ref_template=f"{_FOLDER}{{name}}")
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    for cls in structs:
        if cls.__name__ in schemas:
            raise ValueError(f"there is another component called {cls.__name__}")
        schemas[cls.__name__] = _component(cls, components[cls.__name__])
    schemas |= {name: schema_of(getattr(views, name)) for name in UNIONS}
    result["x-websockets"] = {SOCKET: {"messages": {"$ref": f"{_FOLDER}Message"}}}
    return result


def _component(cls: type[msgspec.Struct], schema: Schema) -> Schema:
    """msgspec's schema. Of what is answered every field that is always sent is required, and defaults are not told."""
    made = schema | {"description": inspect.cleandoc(schema["description"])}
    del made["title"]
    if "properties" in schema and not issubclass(cls, views.Input):
        absent = {field.encode_name for field in msgspec.structs.fields(cls) if field.default is msgspec.UNSET}
        made["properties"] = {
            name: {key: value for key, value in part.items() if key != "default"}
            for name, part in schema["properties"].items()
        }
        made["required"] = [name for name in made["properties"] if name not in absent]
    return made


def add_refusals(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Describe refusals, whose form one handler makes (common/refusals.py). A hook of drf-spectacular."""
    content = {"application/json": {"schema": {"$ref": f"{_FOLDER}Refusal"}}}
    for operations in result["paths"].values():
        for method in METHODS:
            if method in operations:
                operations[method]["responses"]["4XX"] = {"description": "Refused", "content": content}
    return result
