"""Whether a WebSocket comes from a page of ours: scheme, host and port of its Origin have to be those of the request.

Browsers send an Origin always, programs mostly none. Who sends none has to bring a token: a cookie alone, which a
browser adds by itself, is not enough.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

DEFAULT_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]  # scheme, host, port


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """The request's headers; names in lower case."""
    return {name.decode("latin1"): value.decode("latin1") for name, value in scope.get("headers", ())}


def is_ours(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether the Origin header, which must be present, is this service or one of KSCHED_TRUSTED_ORIGINS."""
    origin = _parsed(headers["origin"])
    if origin is None:
        return False
    return origin == _own(scope, headers) or any(_trusts(entry, origin) for entry in settings.CSRF_TRUSTED_ORIGINS)


def _own(scope: Mapping[str, Any], headers: Mapping[str, str]) -> Origin | None:
    """The origin that the request was addressed to; None when its Host is not allowed."""
    host = headers.get("host", "")
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return None
    return _parsed(f"{'https' if _secure(scope, headers) else 'http'}://{host}")


def _secure(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    if settings.SECURE_PROXY_SSL_HEADER:
        name, value = settings.SECURE_PROXY_SSL_HEADER
        scheme = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower())
        if scheme is not None:
            return bool(scheme.split(",")[0].strip() == value)
    return scope.get("scheme") in ("wss", "https")


def _trusts(entry: str, origin: Origin) -> bool:
    if "*" not in entry:
        return _parsed(entry) == origin
    scheme, _, pattern = entry.partition("://")
    return scheme == origin[0] and origin[2] == DEFAULT_PORTS[scheme] and is_same_domain(origin[1], pattern.lstrip("*"))


def _parsed(text: str) -> Origin | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, DEFAULT_PORTS[parts.scheme] if port is None else port
