"""What a connection to an extender trusts and shows of itself: its `tlsConfig` as an SSL context.

The certificate of the other side is not checked when `insecure` says so, or when `enableHTTPS` comes without a CA (as
upstream). Files are read when the configuration is checked and by the worker that leads the cluster: regular files of
at most 1 MiB, never a device or a pipe. Settings that cannot be used are a `ConfigError`.
Source: kubernetes v1.34.1, pkg/scheduler/extender.go (makeTransport).
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import stat
import tempfile

from scheduler_core.config.types import Extender, ExtenderTLSConfig
from scheduler_core.errors import ConfigError, ConfigProblem

MAX_FILE_BYTES = 1 << 20


def tls_context(extender: Extender) -> ssl.SSLContext:
    """What a connection to the extender trusts, and shows of itself."""
    tls = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(tls.ca_file or tls.ca_data)
    if tls.insecure and has_ca:
        raise _tls_error("specifying a root certificates file with the insecure flag is not allowed")
    has_cert, has_key = bool(tls.cert_file or tls.cert_data), bool(tls.key_file or tls.key_data)
    if has_cert != has_key:
        raise _tls_error("certFile or certData and keyFile or keyData must be given together")
    context = ssl.create_default_context()
    if tls.insecure or (extender.enable_https and not has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if has_ca:
        # Only these: the system's own are not trusted beside them.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if has_ca:
            context.load_verify_locations(cadata=_pem("ca", tls.ca_data, tls.ca_file).decode())
        if has_cert:
            certificate = _pem("cert", tls.cert_data, tls.cert_file)
            _load_cert(context, certificate, _pem("key", tls.key_data, tls.key_file))
    except (OSError, ValueError) as error:
        raise _tls_error(f"tlsConfig cannot be used: {words_of(error)}") from error
    return context


def _tls_error(message: str) -> ConfigError:
    return ConfigError([ConfigProblem("tlsConfig", message, sentence=message)])


def words_of(error: Exception) -> str:
    """A failure of the network, of a file or of TLS, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate refused: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _load_cert(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Python reads keys from files only: write it to a private file for the duration of the read."""
    descriptor, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key + b"\n" + certificate)
        # Without a password OpenSSL would ask for one at the terminal, and wait.
        context.load_cert_chain(path, password="")
    finally:
        os.unlink(path)


def _pem(what: str, data: str, path: str) -> bytes:
    """The data (base64, as every []byte of a configuration), else the file; `what` begins the names of both fields."""
    if data:
        try:
            return base64.b64decode(data, validate=False)
        except binascii.Error as error:
            raise ValueError(f"{what}Data: expected base64: {error}") from error
    try:
        return _file_read(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{what}File: {words_of(error)}") from error


def _file_read(path: str) -> bytes:
    # Not blocking: opening a pipe would wait for somebody who writes.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("is no regular file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"is larger than {MAX_FILE_BYTES:,} bytes")
    return content
