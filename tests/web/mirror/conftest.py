"""A cluster of the service that is followed through a proxy into another cluster of the same service."""

from __future__ import annotations

import itertools
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User

from kschedweb.accounts import services as account_services
from kschedweb.accounts.choices import Role
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster import state
from kschedweb.cluster.models import Cluster
from kschedweb.mirror import services
from kschedweb.mirror import session as sessions
from kschedweb.mirror.models import Mirror
from kschedweb.mirror.session import Session, open_session
from kschedweb.ops import certificates
from scheduler_core.following import stream
from scheduler_core.following.kinds import FOLLOWED
from tests.waiting import eventually, joined
from tests.web import tcp
from tests.web.mirror.proxy import Proxy, proxying
from tests.web.scheduling.conftest import put

_serials = itertools.count(1)
Manifest = dict[str, Any]


@dataclass
class Followed:
    """The two clusters and what lies between them."""

    source: Cluster
    mirror: Cluster
    proxy: Proxy

    def put(self, *manifests: Manifest) -> None:
        """Change the followed cluster."""
        put(self.source, *manifests)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        cluster_services.object_delete(
            cluster_id=self.source.pk, kind=kind, namespace=namespace, name=name, actor="t", grace_seconds=0
        )

    def row(self) -> Mirror:
        return Mirror.objects.get(pk=self.mirror.pk)

    def is_equal(self) -> bool:
        """Whether both clusters have the same objects."""
        return objects_of(self.source) == objects_of(self.mirror)

    def is_synced(self) -> bool:
        return Cluster.objects.get(pk=self.mirror.pk).is_synced

    def soon(self, what: Callable[[], bool]) -> None:
        eventually(what, lambda: (self.row().state, self.row().problem, self.row().collections))

    def follow_once(self) -> None:
        """Follow until all objects are here."""
        with self.following_on():
            pass

    @contextmanager
    def following_on(self) -> Iterator[Session]:
        """Follow, and have all objects before anything else is done."""
        with self.following() as session:
            self.soon(self.is_synced)
            yield session

    @contextmanager
    def following(self) -> Iterator[Session]:
        """Follow in a thread of the test, as a worker would."""
        (held,) = services.mirrors_take(holder="test")
        session = open_session(held)
        thread = threading.Thread(target=session.run, daemon=True)
        thread.start()
        try:
            yield session
        finally:
            session.end()
            joined(thread)
            services.mirror_release(held=held)


def objects_of(cluster: Cluster) -> dict[tuple[str, str, str], Manifest]:
    """What is stored, but for the kinds that nobody follows."""
    return {row.key: row.manifest for row in state.stored(cluster.pk) if row.kind in FOLLOWED}


def kubeconfig(port: int, cluster: str, token: str) -> bytes:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{port}/k8s/{cluster}"}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    return yaml.safe_dump(config).encode()


@contextmanager
def https(handler: type[BaseHTTPRequestHandler], folder: Path) -> Iterator[tuple[str, str]]:
    """A server with a certificate of its own: its address, and the certificate, PEM."""
    try:
        certificate, key = certificates.own(folder, "127.0.0.1")
    except certificates.CertificateProblem as problem:
        pytest.skip(str(problem))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}", certificate.read_text()
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def web_port(committed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a web process that all tests of a module share."""
    with tcp.web_process(tmp_path_factory.mktemp("web"), KSCHED_HTTPS="0") as web:
        yield web.port


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "TELL_SECONDS", 0.1)
    monkeypatch.setattr(stream, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(stream, "LONGEST_PAUSE", 0.2)


@pytest.fixture
def followed(transactional_db: None, web_port: int) -> Iterator[Followed]:
    """An empty cluster and its mirror, which nobody follows yet."""
    serial = next(_serials)
    source = cluster_services.cluster_create(name=f"source-{serial}")
    user = User.objects.create(username="mira", is_superuser=True)
    _, token = account_services.token_create(user=user, name="t", max_role=Role.VIEWER, days=1, actor="mira")
    with proxying(web_port) as proxy:
        content = kubeconfig(proxy.port, source.name, token)
        mirror = services.mirror_start(name=f"mirror-{serial}", content=content, actor="mira")
        yield Followed(source, mirror, proxy)
