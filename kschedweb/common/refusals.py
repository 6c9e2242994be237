"""The one handler of REST: every failure becomes {"code", "message", "extra"} with its HTTP status."""

import math
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from kschedweb.common.errors import ApplicationError, BusyError

log = structlog.get_logger(__name__)
RETRY_SECONDS = 1  # after which somebody else's work may be done


class Unavailable(exceptions.APIException):
    status_code = 503
    default_code = "unavailable"
    default_detail = "the database does not answer in time, try again"


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's handler with the service's one shape of errors; None lets an unexpected error through."""
    if isinstance(error, ApplicationError):
        set_rollback()
        again = {"Retry-After": str(RETRY_SECONDS)} if isinstance(error, BusyError) else None
        return Response(error.as_dict(), status=error.status_code, headers=again)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, OperationalError):
        log.warning("the database does not answer", error=str(error).partition("\n")[0])
        error = Unavailable()
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    if isinstance(error, exceptions.ValidationError):
        body = {"code": "invalid", "message": _first_message(error.detail), "extra": {"fields": _plain(error.detail)}}
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


def _plain(detail: Any) -> Any:
    """The same with text for every key: errors of a list's items come by number."""
    if isinstance(detail, dict):
        return {str(field): _plain(inner) for field, inner in detail.items()}
    return [_plain(inner) for inner in detail] if isinstance(detail, list) else str(detail)
