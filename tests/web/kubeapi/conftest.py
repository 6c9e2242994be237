"""One web process with a cluster whose objects only requests change, for all tests of the Kubernetes API."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from kschedweb.accounts import services as account_services
from kschedweb.accounts.choices import Role
from kschedweb.accounts.models import RoleBinding
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.lifecycle import runner
from kschedweb.ops import certificates
from tests.web import tcp
from tests.web.kubeapi.kubectl import Kubectl


@dataclass(frozen=True)
class Served:
    """A cluster as clients of the API reach it; the tokens may do everything, or only read."""

    web: tcp.Web
    cluster: str
    cluster_id: int
    admin: str
    viewer: str

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.web.port}/k8s/{self.cluster}"

    def ask(self, method: str, path: str, token: str = "", body: bytes = b"", **headers: str) -> tcp.Answer:
        """One request, by the token of the administrator unless another is given."""
        headers.setdefault("Authorization", f"Bearer {token or self.admin}")
        return self.web.ask(method, f"/k8s/{self.cluster}{path}", body, **headers)

    def send(self, method: str, path: str, body: Any, token: str = "", form: str = "application/json") -> tcp.Answer:
        """One request with a body in JSON; `form` is what the body is."""
        return self.ask(method, path, token, json.dumps(body).encode(), Content_Type=form)

    def get(self, path: str, token: str = "", **headers: str) -> Any:
        """What is at a path, in JSON."""
        answer = self.ask("GET", path, token, **headers)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)


@pytest.fixture(scope="session")
def served_web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tcp.Web]:
    """One with TLS for all tests: clusters come and go below it."""
    folder = tmp_path_factory.mktemp("web")
    try:
        certificate, key = certificates.own(folder, "127.0.0.1")
    except certificates.CertificateProblem as problem:
        pytest.skip(str(problem))
    tls = {"KSCHED_TLS_CERT": str(certificate), "KSCHED_TLS_KEY": str(key)}
    with tcp.web_process(folder, KSCHED_HTTPS="0", **tls) as web:
        yield web


@pytest.fixture(scope="module")
def served(committed: None, served_web: tcp.Web) -> Served:
    cluster = cluster_services.cluster_create(name="quiet")
    admin = User.objects.create(username="ada", is_superuser=True)
    viewer = User.objects.create(username="vera")
    RoleBinding.objects.create(user=viewer, cluster=cluster, role=Role.VIEWER, granted_by="ada")
    _, of_admin = account_services.token_create(user=admin, name="t", max_role=Role.ADMIN, days=1, actor="ada")
    _, of_viewer = account_services.token_create(user=viewer, name="t", max_role=Role.ADMIN, days=1, actor="vera")
    return Served(served_web, cluster.name, cluster.pk, of_admin, of_viewer)


@pytest.fixture(scope="module")
def kubectl(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl for the cluster, as its administrator."""
    return Kubectl.made(tmp_path_factory.mktemp("kubectl"), served.url, str(served.web.certificate), served.admin)


@contextmanager
def acting_controllers(cluster_id: int) -> Iterator[None]:
    """A simulated cluster whose controllers act in this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kschedweb.common.wake.send", lambda *_, **__: None)
        with repeated(lambda: runner.tick(cluster_id)):
            yield


@contextmanager
def repeated(work: Callable[[], object]) -> Iterator[None]:
    """Something is done ten times a second meanwhile, by a thread of its own."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.1):
            work()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture(scope="module")
def simulated(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Kubectl]]:
    """A cluster whose pods start soon and whose controllers act in this process, and kubectl for it."""
    cluster = cluster_services.cluster_create(name="lively", lifecycle_mode="simulate")
    Cluster.objects.filter(pk=cluster.pk).update(start_delay_ms=100)
    url = f"https://127.0.0.1:{served.web.port}/k8s/{cluster.name}"
    folder = tmp_path_factory.mktemp(cluster.name)
    with acting_controllers(cluster.pk):
        yield cluster, Kubectl.made(folder, url, str(served.web.certificate), served.admin)
