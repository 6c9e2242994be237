"""The other cluster's API: pages of lists and lines of watches. There is one method, and it is GET.

The official client's loader reads the kubeconfig: TLS, client certificates, tokens, programs that make tokens, OIDC.
Its generated API is not used: it would make objects of its own out of every answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import certifi
import orjson
import urllib3
from urllib3.exceptions import HTTPError

from scheduler_core.following.kinds import Collected

if TYPE_CHECKING:
    from kubernetes.client import Configuration

PAGE = 500
CONNECT_SECONDS = 10.0
READ_SECONDS = 90.0  # a watch without even a bookmark for so long is taken for dead
LIST_SECONDS = 60.0
WATCH_SECONDS = 300
_CHUNK = 1 << 16
_AGENT = "kschedweb-mirror"


class SourceError(Exception):
    """A request that failed; `code` is the HTTP status, 0 when there was no answer."""

    def __init__(self, code: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after = retry_after


@dataclass
class Source:
    """Connections to one API server. `persist` hears of credentials that were renewed, as a kubeconfig document."""

    document: dict[str, Any]
    persist: Callable[[dict[str, Any]], None] = lambda _: None
    _configuration: Configuration | None = None
    _pool: urllib3.PoolManager | None = None
    _open: set[urllib3.BaseHTTPResponse] = field(default_factory=set)
    _guard: Lock = field(default_factory=Lock)
    _is_closed: bool = False

    def page(self, collected: Collected, token: str) -> dict[str, Any]:
        """One page of a list, parsed; SourceError."""
        fields = {"limit": str(PAGE)} | ({"continue": token} if token else {})
        response = self._get(collected.path, fields, LIST_SECONDS)
        try:
            content = response.read()
        except (HTTPError, OSError) as error:
            raise SourceError(0, f"the list broke off: {error}") from None
        finally:
            self._close(response)
        try:
            answer = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise SourceError(0, f"the list is not sound JSON: {error}") from None
        if not isinstance(answer, dict):
            raise SourceError(0, "the list is no object")
        return answer

    def watch(self, collected: Collected, version: str, seconds: int) -> Iterator[list[bytes]]:
        """Lines of a watch, as many at a time as came, first none; it ends as the server likes. SourceError.

        A connection that breaks ends it as well: what came is complete, and the next watch goes on from there.
        """
        fields = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        response = self._get(collected.path, fields, READ_SECONDS)
        try:
            yield []  # it has begun
            rest = b""
            with contextlib.suppress(HTTPError, OSError):
                while chunk := response.read1(_CHUNK):
                    *lines, rest = (rest + chunk).split(b"\n")
                    if lines:
                        yield lines
        finally:
            self._close(response)

    def close(self) -> None:
        """End all requests under way, from any thread."""
        self._is_closed = True
        with self._guard:
            responses = list(self._open)
        for response in responses:
            with contextlib.suppress(Exception):
                response.shutdown()
        if self._pool is not None:
            self._pool.clear()

    def _get(self, path: str, fields: dict[str, str], read_seconds: float) -> urllib3.BaseHTTPResponse:
        for is_last in (False, True):
            response = self._get_once(path, fields, read_seconds)
            if response.status == 401 and not is_last:
                # A token that has run out: what makes tokens is asked again, once.
                self._close(response)
                with self._guard:
                    self._configuration = None
                continue
            break
        if response.status >= 400:
            code, retry_after = response.status, response.headers.get("Retry-After", "")
            with contextlib.suppress(HTTPError, OSError):
                message = _message(response.read(_CHUNK))
            self._close(response)
            raise SourceError(code, message or f"HTTP {code}", float(retry_after) if retry_after.isdigit() else 0.0)
        return response

    def _get_once(self, path: str, fields: dict[str, str], read_seconds: float) -> urllib3.BaseHTTPResponse:
        configuration, pool = self._connected()
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": _AGENT}
        token = configuration.get_api_key_with_prefix("BearerToken")
        if token:
            headers["Authorization"] = token
        try:
            response = pool.request(
                "GET",
                configuration.host + path,
                fields=fields,
                headers=headers,
                preload_content=False,
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
            )
        except (HTTPError, OSError) as error:
            raise SourceError(0, f"{configuration.host} does not answer: {_reason(error)}") from None
        with self._guard:
            self._open.add(response)
        if self._is_closed:
            self._close(response)
            raise SourceError(0, "closed")
        return response

    def _close(self, response: urllib3.BaseHTTPResponse) -> None:
        with self._guard:
            self._open.discard(response)
        with contextlib.suppress(Exception):
            response.close()

    def _connected(self) -> tuple[Configuration, urllib3.PoolManager]:
        with self._guard:
            if self._configuration is None or self._pool is None:
                self._configuration, self._pool = self._connect()
            return self._configuration, self._pool

    def _connect(self) -> tuple[Configuration, urllib3.PoolManager]:
        # Some 35 MB, which only the process that follows has a use for.
        from kubernetes.client import Configuration
        from kubernetes.client.rest import RESTClientObject
        from kubernetes.config import ConfigException
        from kubernetes.config.kube_config import KubeConfigLoader

        try:
            configuration = Configuration()
            KubeConfigLoader(
                _with_issuer_verified(self.document), config_persister=lambda: self.persist(self.document)
            ).load_and_set(configuration)
        except ConfigException as error:
            raise SourceError(0, f"kubeconfig: {error}") from None
        except Exception as error:  # whatever a program or a provider of tokens does
            raise SourceError(0, f"credentials: {type(error).__name__}: {error}") from None
        configuration.retries = False
        configuration.connection_pool_maxsize = 64
        return configuration, RESTClientObject(configuration).pool_manager


def _with_issuer_verified(document: dict[str, Any]) -> dict[str, Any]:
    """The loader does not verify an OIDC issuer for which no authority is named: name the usual ones."""
    for entry in document.get("users", ()):
        provider = entry["user"].get("auth-provider")
        settings = provider.get("config") if isinstance(provider, dict) else None
        if isinstance(settings, dict) and not settings.get("idp-certificate-authority-data"):
            settings.setdefault("idp-certificate-authority", certifi.where())
    return document


def _message(content: bytes) -> str:
    """What a refusal says: of a Status its message."""
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        return content[:200].decode(errors="replace").strip()
    return str(answer.get("message", ""))[:500] if isinstance(answer, dict) else ""


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return str(reason).partition("> ")[2] or str(reason)[:300]
