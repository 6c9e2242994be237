"""URLs as texts, and why a text is none, in the words of Go.

Source: Go 1.24, net/url (ParseRequestURI, Parse).
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from scheduler_core.cel.addresses import AddressError, address
from scheduler_core.cel.semver import quoted

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+(?=:)", re.ASCII)
_BROKEN: Final = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.ASCII | re.DOTALL)
_USER: Final = frozenset(string.ascii_letters + string.digits + "-._:~!$&'()*+,;=%@")
_HOST: Final = frozenset(string.ascii_letters + string.digits + "-_.~!$&'()*+,;=:[]<>\"%")
_IN_PATHS: Final = "!$&'()*+,;=:@[]"  # may stand as they are
_PATH_SAFE: Final = "$&+,/:;=@"  # are not escaped


class UrlError(ValueError):
    """Why a text is no URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """`host` with the port; `path` as it stands; `query` as it stands."""

    scheme: str
    host: str
    path: str
    query: str
    text: str

    @property
    def hostname(self) -> str:
        host = self._split()[0]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        return self._split()[1]

    def _split(self) -> tuple[str, str]:
        before, colon, port = self.host.rpartition(":")
        if colon and (not port or (port.isascii() and port.isdigit())):
            return before, port
        return self.host, ""

    @property
    def escaped_path(self) -> str:
        unreserved = string.ascii_letters + string.digits + "-_.~"
        if all(sign in unreserved or sign in _IN_PATHS or sign in "%/" for sign in self.path):
            return self.path
        return quote(unquote_to_bytes(self.path), safe=_PATH_SAFE)

    @property
    def values(self) -> dict[str, list[str]]:
        """The parameters of the query; those that are not well formed are left out."""
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if not pair or ";" in pair or _BROKEN.search(pair):
                continue
            key, _, value = pair.partition("=")
            found.setdefault(_plain(key), []).append(_plain(value))
        return found


def _plain(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


def url(text: str) -> Url:
    """UrlError for what is neither absolute nor an absolute path."""
    checked(text)
    # A fragment is part of the path or the query as far as requests go, and no part of the URL otherwise.
    before = text.partition("#")[0]
    try:
        return _parsed(before)
    except UrlError as error:
        raise UrlError(f"parse {quoted(before)}: {error}") from error


def checked(text: str) -> None:
    """UrlError when the text is no URL of a request."""
    try:
        _parsed(text)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from error


def _parsed(text: str) -> Url:
    if any(sign < " " or sign == "\x7f" for sign in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text:
        raise UrlError("empty url")
    if text == "*":
        return Url("", "", "*", "", text)
    match = _SCHEME.match(text)
    if match is None and text.startswith(":"):
        raise UrlError("missing protocol scheme")
    scheme = match[0].lower() if match is not None else ""
    rest, _, query = text[len(scheme) + 1 if scheme else 0 :].partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, "", "", query, text)
        raise UrlError("invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        host, rest = _host_of(scheme, authority), slash + rest
    _unescaped(rest)
    return Url(scheme, host, rest, query, text)


def _unescaped(text: str) -> str:
    broken = _BROKEN.search(text)
    if broken is not None:
        raise UrlError(f"invalid URL escape {quoted(broken[0])}")
    return unquote_to_bytes(text).decode(errors="replace")


def _host_of(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    found = _checked_host(scheme, host)
    if at and not set(user) <= _USER:
        raise UrlError("net/url: invalid userinfo")
    _unescaped(user)
    return found


def _checked_host(scheme: str, host: str) -> str:
    opened = host.rfind("[")
    if opened > 0:
        raise UrlError("invalid IP-literal")
    if opened == 0:
        closed = host.rfind("]")
        if closed < 0:
            raise UrlError("missing ']' in host")
        _check_port(host[closed + 1 :])
        literal = _unescaped_host(host[1:closed])
        try:
            if address(literal).version == 4:
                raise UrlError("invalid IP-literal")
        except AddressError as error:
            told = str(error).partition("conversion from string: ")[2] or str(error)
            raise UrlError(f"invalid host: {told}") from error
        return f"[{literal}]{host[closed + 1 :]}"
    if ":" in host:
        # Before, the last colon counted; with http and https the first does.
        place = host.find(":") if scheme in ("http", "https") else host.rfind(":")
        _check_port(host[place:])
    return _unescaped_host(host)


def _check_port(text: str) -> None:
    port = text[1:]
    if text and (text[0] != ":" or (port and not (port.isascii() and port.isdigit()))):
        raise UrlError(f"invalid port {quoted(text)} after host")


def _unescaped_host(text: str) -> str:
    broken = _BROKEN.search(text)
    if broken is not None:
        raise UrlError(f"invalid URL escape {quoted(broken[0])}")
    for match in re.finditer("%[0-7].", text):
        if match[0] != "%25":
            raise UrlError(f"invalid URL escape {quoted(match[0])}")
    wrong = next((sign for sign in text if sign.isascii() and sign not in _HOST), None)
    if wrong is not None:
        raise UrlError(f"invalid character {quoted(wrong)} in host name")
    return unquote_to_bytes(text).decode(errors="replace")
