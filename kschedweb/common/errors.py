"""Expected failures of a request, and the one handler that turns them into {"code", "message", "extra"}.

Codes are stable: clients compare them. Messages are for people; `extra` carries what a program may need.
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback


class ApplicationError(Exception):
    """A failure the caller can act upon; subclasses fix the code and the HTTP status."""

    code = "application_error"
    status_code: int = status.HTTP_400_BAD_REQUEST

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra = extra

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "extra": self.extra}


class NotFoundError(ApplicationError):
    code = "not_found"
    status_code = status.HTTP_404_NOT_FOUND


class ConflictError(ApplicationError):
    code = "conflict"
    status_code = status.HTTP_409_CONFLICT


class GoneError(ApplicationError):
    """What was asked for lies too far back."""

    code = "gone"
    status_code = status.HTTP_410_GONE


class InvalidError(ApplicationError):
    """The input can be read and is wrong."""

    code = "invalid"
    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's handler with the service's one shape of errors; None lets an unexpected error through."""
    if isinstance(error, ApplicationError):
        set_rollback()
        return Response(error.as_dict(), status=error.status_code)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if isinstance(error, exceptions.ValidationError):
        body = {"code": "invalid", "message": _first_message(error.detail), "extra": {"fields": error.detail}}
    else:
        body = {"code": str(error.get_codes()), "message": str(error.detail), "extra": {}}
    return Response(body, status=error.status_code, headers=headers)


def _first_message(detail: Any, path: str = "") -> str:
    """The first of the field errors, with its field."""
    if isinstance(detail, dict):
        field, inner = next(iter(detail.items()))
        name = "" if field == "non_field_errors" else str(field)
        return _first_message(inner, f"{path}.{name}" if path and name else path or name)
    if isinstance(detail, list):
        return _first_message(detail[0], path)
    return f"{path}: {detail}" if path else str(detail)
