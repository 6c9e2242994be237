"""Functions of URLs.

Source: kubernetes v1.34.1, apiserver/pkg/cel/library (urls.go).
"""

from __future__ import annotations

from scheduler_core.cel import urls
from scheduler_core.cel.functions import function, method, traversal
from scheduler_core.cel.types import URL
from scheduler_core.cel.urls import Url, UrlError
from scheduler_core.cel.values import EvaluationError, Map


@function("url", "string", cost=traversal())
def url(text: str) -> Url:
    try:
        return urls.url(text)
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from error


@function("isURL", "string")
def is_url(text: str) -> bool:
    try:
        urls.checked(text)
    except UrlError:
        return False
    return True


@method("getScheme", URL)
def scheme(value: Url) -> str:
    return value.scheme


@method("getHost", URL)
def host(value: Url) -> str:
    return value.host


@method("getHostname", URL)
def hostname(value: Url) -> str:
    return value.hostname


@method("getPort", URL)
def port(value: Url) -> str:
    return value.port


@method("getEscapedPath", URL)
def escaped_path(value: Url) -> str:
    return value.escaped_path


@method("getQuery", URL)
def query(value: Url) -> Map:
    return Map((key, tuple(values)) for key, values in value.values.items())
