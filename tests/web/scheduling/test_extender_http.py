"""Questions to extenders over HTTP: a real server at the other end, and what is kept of its answers."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kschedweb import views
from kschedweb.cluster.configuration import effective
from kschedweb.cluster.extender_http import TIMED_OUT, StepTime, connect
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common.errors import InvalidError
from kschedweb.ops.up import QUICK_LEASE
from kschedweb.scheduling.models import Binding
from kschedweb.traces import adapters
from kschedweb.traces.models import Attempt, EngineLog, NodeOrder
from scheduler_core.config.duration import Duration
from scheduler_core.config.types import Extender, ExtenderTLSConfig
from scheduler_core.errors import ConfigError, ExtenderError
from tests.builders import make_manifest, make_node, make_pod, scheduler_config
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web.scheduling.conftest import configure, put, scheduled
from tests.web.scheduling.extenders import ExtenderServer

# The transport


def test_question_is_posted_as_json(extender: ExtenderServer) -> None:
    extender.answers["/scheduler/filter"] = lambda question: {"got": question}
    transport = connect(Extender(url_prefix=f"{extender.url}/scheduler//"))
    assert json.loads(transport.call("filter", b'{"a": 1}')) == {"got": {"a": 1}}
    assert extender.content_types == ["application/json"]


@pytest.mark.parametrize("status", [201, 302, 404, 500])
def test_other_status_than_200_is_an_error(extender: ExtenderServer, status: int) -> None:
    extender.answers["/filter"] = lambda question: status
    with pytest.raises(ExtenderError) as failure:
        connect(Extender(url_prefix=extender.url)).call("filter", b"{}")
    assert str(failure.value) == f"failed filter with extender at URL {extender.url}/filter, code {status}"
    assert len(extender.asked) == 1  # a redirect is not followed


def test_answer_that_comes_too_late_is_an_error(extender: ExtenderServer) -> None:
    given_up = threading.Event()
    extender.answers["/filter"] = lambda question: {"waited": given_up.wait(HANG_SECONDS)}
    with pytest.raises(ExtenderError) as failure:
        connect(Extender(url_prefix=extender.url, http_timeout=Duration(200_000))).call("filter", b"{}")
    given_up.set()
    assert str(failure.value) == f'Post "{extender.url}/filter": {TIMED_OUT}'


def test_extender_is_waited_for_as_long_as_the_default_timeout_says_under_ksched_up(extender: ExtenderServer) -> None:
    now = [0.0]

    def slow(question: dict[str, Any]) -> dict[str, Any]:
        now[0] += 4.5
        return {"nodeNames": []}

    extender.answers["/filter"] = slow
    step_time = StepTime(float(QUICK_LEASE["KSCHED_RENEW_DEADLINE_SECONDS"]))
    transport = connect(Extender(url_prefix=extender.url), step_time, lambda: now[0])
    assert json.loads(transport.call("filter", b"{}")) == {"nodeNames": []}
    assert step_time.spent == 4.5


def test_nobody_there_is_an_error(extender: ExtenderServer) -> None:
    free = ExtenderServer()
    free.server.server_close()
    with pytest.raises(ExtenderError, match="connection refused"):
        connect(Extender(url_prefix=free.url)).call("filter", b"{}")


@pytest.mark.parametrize("prefix", ["", "example.com", "ftp://example.com", "http://", "http://e:99999"])
def test_prefix_that_is_no_url_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigError, match="is no http or https URL"):
        connect(Extender(url_prefix=prefix))


@cases(
    "tls, text",
    ("CA for nothing", ExtenderTLSConfig(insecure=True, ca_data="eA=="), "insecure flag is not allowed"),
    ("certificate without key", ExtenderTLSConfig(cert_data="eA=="), "must be given together"),
    ("CA that is none", ExtenderTLSConfig(ca_data="eA=="), "tlsConfig cannot be used"),
    ("CA file that is not there", ExtenderTLSConfig(ca_file="/nowhere.pem"), "no such file"),
)
def test_tls_settings_that_cannot_be_used_are_refused(tls: ExtenderTLSConfig, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        connect(Extender(url_prefix="https://e", tls_config=tls))


@dataclass(frozen=True)
class Identity:
    """A certificate for `extender.test`, signed by itself, and its key."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    folder = tmp_path_factory.mktemp("tls")
    made = Identity(folder / "cert.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=extender.test"]
    command += ["-addext", "subjectAltName=DNS:extender.test", "-keyout", str(made.key), "-out", str(made.certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not here to make a certificate")
    return made


def secure(extender: ExtenderServer, identity: Identity, *, asks_for_certificate: bool = False) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    if asks_for_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(identity.certificate)
    extender.server.socket = context.wrap_socket(extender.server.socket, server_side=True)
    extender.answers["/filter"] = lambda question: {}
    return f"https://127.0.0.1:{extender.port}"


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_certificate_is_checked_unless_told_otherwise(extender: ExtenderServer, identity: Identity) -> None:
    url = secure(extender, identity)
    ca, ca_file = encoded(identity.certificate), str(identity.certificate)
    trusted = [
        Extender(url_prefix=url, enable_https=True),
        Extender(url_prefix=url, tls_config=ExtenderTLSConfig(insecure=True)),
        Extender(url_prefix=url, tls_config=ExtenderTLSConfig(ca_data=ca, server_name="extender.test")),
        Extender(
            url_prefix=url,
            enable_https=True,
            tls_config=ExtenderTLSConfig(ca_file=ca_file, server_name="extender.test"),
        ),
    ]
    for config in trusted:
        assert connect(config).call("filter", b"{}") == b"{}"
    refused = [
        Extender(url_prefix=url),
        Extender(url_prefix=url, enable_https=True, tls_config=ExtenderTLSConfig(ca_data=ca)),
    ]
    for config in refused:
        with pytest.raises(ExtenderError, match="certificate refused"):
            connect(config).call("filter", b"{}")


def test_own_certificate_is_shown_when_configured(extender: ExtenderServer, identity: Identity) -> None:
    url = secure(extender, identity, asks_for_certificate=True)
    certificate, key = encoded(identity.certificate), encoded(identity.key)
    shown = [
        ExtenderTLSConfig(insecure=True, cert_data=certificate, key_data=key),
        ExtenderTLSConfig(insecure=True, cert_file=str(identity.certificate), key_file=str(identity.key)),
    ]
    for tls in shown:
        assert connect(Extender(url_prefix=url, tls_config=tls)).call("filter", b"{}") == b"{}"
    with pytest.raises(ExtenderError):
        connect(Extender(url_prefix=url, tls_config=ExtenderTLSConfig(insecure=True))).call("filter", b"{}")


# In a cluster


def test_configuration_with_extenders_can_be_used_only_when_they_can_be_reached() -> None:
    def text(prefix: str) -> str:
        return scheduler_config(extenders=[{"urlPrefix": prefix, "filterVerb": "filter"}])

    assert effective(text("http://extender.example:8888")).profiles
    with pytest.raises(InvalidError, match='urlPrefix "nowhere" is no http or https URL'):
        effective(text("nowhere"))


def attempt_of(cluster: Cluster) -> tuple[Attempt, views.Matrix]:
    """The only attempt, and its matrix as the page shows it."""
    attempt = Attempt.objects.get(cluster=cluster)
    order = NodeOrder.objects.get(cluster=cluster, digest=attempt.node_order)
    assert attempt.matrix is not None
    names = adapters.node_names(bytes(order.names))
    return attempt, adapters.matrix_view(bytes(attempt.matrix), names, views.MatrixQuery())


@pytest.mark.django_db(transaction=True)
def test_extender_filters_and_scores_in_a_cluster(cluster: Cluster, extender: ExtenderServer) -> None:
    extender.answers["/filter"] = lambda question: {
        "NodeNames": [name for name in question["NodeNames"] if name != "n0"],
        "FailedNodes": {"n0": "too hot"},
    }
    extender.answers["/prioritize"] = lambda question: [{"Host": "n2", "Score": 10}]
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5, "nodeCacheCapable": True}
    configure(cluster, extenders=[{"urlPrefix": extender.url, **verbs}])
    scheduled(cluster, *(make_node(f"n{i}") for i in range(3)), make_pod("p").req(cpu="1"))
    attempt, matrix = attempt_of(cluster)
    assert (attempt.result, attempt.node_name) == ("scheduled", "n2")
    assert attempt.rejections == [{"plugin": "Extender", "reason": "too hot", "code": "Unschedulable", "count": 1}]
    assert [(told.point, told.error) for told in matrix.extenders] == [("filter", ""), ("prioritize", "")]
    assert json.loads(matrix.extenders[1].answer) == [{"Host": "n2", "Score": 10}]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("ignorable", "result"), [(True, "scheduled"), (False, "error")])
def test_extender_that_is_down_fails_the_attempt_unless_ignorable(
    cluster: Cluster, extender: ExtenderServer, ignorable: bool, result: str
) -> None:
    extender.answers["/filter"] = lambda question: 503
    configure(cluster, extenders=[{"urlPrefix": extender.url, "filterVerb": "filter", "ignorable": ignorable}])
    scheduled(cluster, make_node("n0"), make_pod("p").req(cpu="1"))
    attempt, matrix = attempt_of(cluster)
    assert attempt.result == result
    assert matrix.extenders[0].error.endswith("code 503")
    assert attempt.message == ("" if ignorable else matrix.extenders[0].error)


@pytest.mark.django_db(transaction=True)
def test_extender_preempts_in_a_cluster(cluster: Cluster, extender: ExtenderServer) -> None:
    def answer(question: dict[str, Any]) -> Any:
        (pod,) = question["NodeNameToVictims"]["n1"]["Pods"]
        victims = {"Pods": [{"UID": pod["metadata"]["uid"]}], "NumPDBViolations": 0}
        return {"NodeNameToMetaVictims": {"n1": victims}}

    extender.answers["/preempt"] = answer
    configure(cluster, extenders=[{"urlPrefix": extender.url, "preemptVerb": "preempt"}])
    low = [make_pod(f"low{i}").req(cpu="4").on(f"n{i}").phase("Running").manifest() for i in range(2)]
    high = make_pod("high").req(cpu="4").spec(priorityClassName="high").manifest()
    put(
        cluster,
        make_manifest("PriorityClass", "high", value=100),
        *(make_node(f"n{i}").capacity(cpu="4") for i in range(2)),
        *low,
    )
    scheduled(cluster, high)
    attempt = Attempt.objects.filter(cluster=cluster).order_by("seq")[0]
    assert attempt.preemption is not None
    assert (attempt.preemption["node"], attempt.preemption["victims"]) == ("n1", ["default/low1"])


@pytest.mark.django_db(transaction=True)
def test_extender_binds_in_a_cluster(cluster: Cluster, extender: ExtenderServer) -> None:
    extender.answers["/bind"] = lambda question: {}
    configure(cluster, extenders=[{"urlPrefix": extender.url, "bindVerb": "bind"}])
    scheduled(cluster, make_node("n0"), make_pod("p").req(cpu="1"))
    ((path, question),) = extender.asked
    pod = Pod.objects.get(cluster=cluster)
    assert (path, question["PodName"], question["PodUID"], question["Node"]) == ("/bind", "p", pod.uid, "n0")
    assert not Binding.objects.filter(cluster=cluster).exists()  # nobody else is asked for it
    assert Attempt.objects.get(cluster=cluster).result == "scheduled"
    notes = EngineLog.objects.filter(cluster=cluster, kind="event").values_list("payload__note", flat=True)
    assert list(notes) == ["Successfully assigned default/p to n0"]
