"""The way to an extender over HTTP: one POST of JSON per question, within the extender's time.

Only hosts of KSCHED_EXTENDER_HOSTS are asked: without that list whoever may write a configuration could make a worker
send requests to anything it reaches. The list is checked before anything else of the configuration is used.

The whole exchange has to be over after `httpTimeout`; only status 200 is an answer, redirects are not followed, and
an answer ends at 64 MiB. Over HTTPS the certificate is not checked when `insecure` says so, or when `enableHTTPS` comes
without a CA (as upstream). Anything that goes wrong is an `ExtenderError`; TLS settings that cannot be used are a
`ConfigError` before the first question.
Source: kubernetes v1.34.1, pkg/scheduler/extender.go (NewHTTPExtender, makeTransport, send).
"""

from __future__ import annotations

import base64
import binascii
import os
import socket
import ssl
import tempfile
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from scheduler_core.config.types import Extender, ExtenderTLSConfig
from scheduler_core.errors import ConfigError, ExtenderError

MAX_ANSWER_BYTES = 64 << 20
CHUNK_BYTES = 64 << 10
OK = 200
DEFAULT_PORTS = {"http": 80, "https": 443}
TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting an answer)"


class HTTPTransport:
    """The transport of one extender; a connection per question."""

    def __init__(self, extender: Extender) -> None:
        self._prefix = extender.url_prefix.rstrip("/")
        self._timeout_seconds = extender.http_timeout.us / 1_000_000
        parts = _checked_url(self._prefix)
        assert parts.hostname is not None  # checked
        self._host = parts.hostname
        self._port = parts.port or DEFAULT_PORTS[parts.scheme]
        self._path = parts.path
        self._tls = tls_context(extender) if parts.scheme == "https" else None
        tls_config = extender.tls_config
        self._server_name = (tls_config.server_name if tls_config is not None else "") or self._host

    def call(self, verb: str, payload: bytes) -> bytes:
        url = f"{self._prefix}/{verb}"
        deadline = time.monotonic() + self._timeout_seconds
        try:
            status, answer = self._exchange(f"{self._path}/{verb}", payload, deadline)
        except TimeoutError:
            raise ExtenderError(f'Post "{url}": {TIMED_OUT}') from None
        except (OSError, HTTPException) as error:
            raise ExtenderError(f'Post "{url}": {_words(error)}') from error
        if status != OK:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {status}")
        return answer

    def _exchange(self, path: str, payload: bytes, deadline: float) -> tuple[int, bytes]:
        connection = HTTPConnection(self._host, self._port, timeout=self._timeout_seconds)
        plain = socket.create_connection((self._host, self._port), timeout=_left(deadline))
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sock = plain
            if self._tls is not None:
                plain.settimeout(_left(deadline))
                connection.sock = self._tls.wrap_socket(plain, server_hostname=self._server_name)
            sock: socket.socket = connection.sock
            sock.settimeout(_left(deadline))
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", path, body=payload, headers=headers)
            sock.settimeout(_left(deadline))
            response = connection.getresponse()
            answer = _read(response, sock, deadline) if response.status == OK else b""
            return response.status, answer
        finally:
            connection.close()
            plain.close()


def connect(extender: Extender) -> HTTPTransport:
    """The transport of a configured extender."""
    return HTTPTransport(extender)


def tls_context(extender: Extender) -> ssl.SSLContext:
    """What a connection to the extender trusts, and shows of itself."""
    tls = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(tls.ca_file or tls.ca_data)
    if tls.insecure and has_ca:
        raise ConfigError(["specifying a root certificates file with the insecure flag is not allowed"])
    has_cert, has_key = bool(tls.cert_file or tls.cert_data), bool(tls.key_file or tls.key_data)
    if has_cert != has_key:
        raise ConfigError(["certFile or certData and keyFile or keyData must be given together"])
    context = ssl.create_default_context()
    if tls.insecure or (extender.enable_https and not has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        if has_ca:
            # Only these: the system's own are not trusted beside them.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=_pem(tls.ca_data, tls.ca_file).decode())
        if has_cert:
            _load_cert(context, _pem(tls.cert_data, tls.cert_file), _pem(tls.key_data, tls.key_file))
    except (OSError, ValueError) as error:
        raise ConfigError([f"tlsConfig cannot be used: {_words(error)}"]) from error
    return context


def _load_cert(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Python reads a key from files only: it lies in one for that moment, for nobody else to read."""
    descriptor, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key + b"\n" + certificate)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


def _pem(data: str, path: str) -> bytes:
    """The data (base64, as every []byte of a configuration), else the file."""
    if data:
        try:
            return base64.b64decode(data, validate=False)
        except binascii.Error as error:
            raise ValueError(f"expected base64: {error}") from error
    with open(path, "rb") as file:
        return file.read()


def _checked_url(prefix: str) -> SplitResult:
    try:
        parts = urlsplit(prefix)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError([f'urlPrefix "{prefix}" is no http or https URL'])
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    if not any(_names(entry, str(parts.hostname), port) for entry in settings.EXTENDER_HOSTS):
        raise ConfigError([f'urlPrefix "{prefix}" names a host that is not in KSCHED_EXTENDER_HOSTS'])
    return parts


def _names(entry: str, host: str, port: int) -> bool:
    """Whether an entry, host or host:port, allows that address."""
    allowed = urlsplit(f"//{entry}")
    return allowed.hostname == host and allowed.port in (None, port)


def _read(response: HTTPResponse, sock: socket.socket, deadline: float) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        sock.settimeout(_left(deadline))
        chunk = response.read1(CHUNK_BYTES)
        if not chunk:
            # read1 does not tell a body that breaks off from one that ends.
            if response.length:
                raise HTTPException("unexpected EOF")
            return b"".join(chunks)
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise HTTPException(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        chunks.append(chunk)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate refused: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
