"""Expected failures of a request; refusals.py turns them into {"code", "message", "extra"}.

Codes are stable: clients compare them. Messages are for people; `extra` carries what a program may need.
"""

from typing import Any

from rest_framework import status


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


class ClusterGoneError(NotFoundError):
    """There is no such cluster, or no longer; whoever worked on it has nothing more to do."""

    def __init__(self, cluster: int | str) -> None:
        super().__init__("the cluster does not exist", cluster=cluster)


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


class ForbiddenError(ApplicationError):
    """A rule forbids it, whoever asks."""

    code = "forbidden"
    status_code = status.HTTP_403_FORBIDDEN


class UnsupportedError(ApplicationError):
    """The state of the cluster is one that the rules have no answer for, as on a Kubernetes API server."""

    code = "unsupported"
    status_code = status.HTTP_500_INTERNAL_SERVER_ERROR


class QueryRefusedError(ApplicationError):
    """The text is no query; `at` and `end` say where it is wrong, in characters."""

    code = "invalid_query"


class ReadOnlyError(ApplicationError):
    """What was to be changed is only read here: it belongs to a cluster elsewhere."""

    code = "read_only"
    status_code = status.HTTP_403_FORBIDDEN


class BusyError(ApplicationError):
    """What would answer is at work for somebody else, and done with it soon."""

    code = "busy"
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE


class TooManyError(ApplicationError):
    """As much as is allowed is under way already; later it may pass."""

    code = "too_many"
    status_code = status.HTTP_429_TOO_MANY_REQUESTS
