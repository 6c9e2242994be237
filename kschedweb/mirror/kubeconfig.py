"""Kubeconfigs: which context is meant, and what in it may not come from elsewhere.

A kubeconfig can name programs to run and files to read. One that comes over REST may do neither; `./ksched mirror`, run
by who runs the service, may. The official client's loader makes connections of it: see source.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kschedweb.common.errors import InvalidError
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.errors import YamlError

MAX_BYTES = 512 * 1024
Document = dict[str, Any]
# Of users and clusters: what makes this machine read a file, and what makes it run a program.
_FILES = ("client-certificate", "client-key", "tokenFile", "certificate-authority")
_PROVIDER_FILES = ("idp-certificate-authority",)
_PROGRAMS = ("exec",)
_PROVIDERS = ("oidc",)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The context that will be used: a document with that context alone, and the server's address."""

    document: Document
    context: str
    server: str


def choose(content: bytes, *, context: str = "", is_trusted: bool = False) -> Chosen:
    """The context of a kubeconfig (YAML or JSON), the current one unless named; InvalidError names the field."""
    document = _parsed(content)
    name = context or document.get("current-context")
    if not isinstance(name, str) or not name:
        raise _invalid("current-context", "is required, or a context has to be named")
    entry = _named(document, "contexts", name).get("context")
    if not isinstance(entry, dict):
        raise _invalid(f"contexts[{name}].context", "is required")
    cluster_name, user_name = str(entry.get("cluster") or ""), str(entry.get("user") or "")
    cluster = _named(document, "clusters", cluster_name).get("cluster")
    if not isinstance(cluster, dict):
        raise _invalid(f"clusters[{cluster_name}].cluster", "is required")
    user = _named(document, "users", user_name).get("user") if user_name else {}
    user = user if isinstance(user, dict) else {}
    server = str(cluster.get("server") or "").rstrip("/")
    address = urlsplit(server)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise _invalid(f"clusters[{cluster_name}].cluster.server", f"expected an http or https URL, got {server!r}")
    for field, what in _dangers(cluster, user, cluster_name, user_name):
        if not is_trusted:
            raise _invalid(field, f"{what} on the service's machine: start the mirror there, with `./ksched mirror`")
    provider = user.get("auth-provider")
    if isinstance(provider, dict) and provider.get("name") not in _PROVIDERS:
        raise _invalid(f"users[{user_name}].user.auth-provider", f"{provider.get('name')!r} is not supported; use exec")
    alone: Document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": entry}],
        "clusters": [{"name": cluster_name, "cluster": cluster}],
        "users": [{"name": user_name, "user": user}] if user_name else [],
    }
    return Chosen(alone, name, server)


def _dangers(
    cluster: Mapping[str, Any], user: Mapping[str, Any], cluster_name: str, user_name: str
) -> Iterator[tuple[str, str]]:
    for field in _FILES:
        for owner, of in ((f"clusters[{cluster_name}].cluster", cluster), (f"users[{user_name}].user", user)):
            if of.get(field):
                yield f"{owner}.{field}", "names a file"
    for field in _PROGRAMS:
        if user.get(field):
            yield f"users[{user_name}].user.{field}", "names a program"
    provider = user.get("auth-provider")
    settings = provider.get("config") if isinstance(provider, dict) else None
    if isinstance(settings, dict):
        for field in (*_PROVIDER_FILES, "cmd-path"):
            if settings.get(field):
                yield f"users[{user_name}].user.auth-provider.config.{field}", "names a file or a program"


def _parsed(content: bytes) -> Document:
    if len(content) > MAX_BYTES:
        raise _invalid("", f"is larger than {MAX_BYTES:,} bytes")
    try:
        documents = [value for _, value in read_documents(content, YamlBounds(32, 100_000, 1_000))]
    except YamlError as error:
        raise _invalid("", f"is not sound YAML: line {error.line}: {error.detail}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise _invalid("", "expected one document, an object")
    return documents[0]


def _named(document: Document, field: str, name: str) -> Document:
    entries = document.get(field)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
    raise _invalid(field, f"has no entry named {name!r}")


def _invalid(field: str, detail: str) -> InvalidError:
    return InvalidError(f"kubeconfig: {field}: {detail}" if field else f"kubeconfig: {detail}", field="kubeconfig")
