"""schemathesis over the OpenAPI documents of the Kubernetes API: whatever is sent, the server has no error of its own.

Some answers are 500 because kube-apiserver answers so: then its Status says what was wrong with the request. Values are
the same in every run. Watches are left out: they end when their time is over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from tests.core.apiserver.custom_samples import DENS, RIVERS
from tests.core.apiserver.customs import DEFINITIONS
from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.conftest import Served

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from schemathesis import GenerationMode  # noqa: E402

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore:Unverified HTTPS request")]

FEW, MANY = 1, 8  # examples for each operation and mode
GROUPS = (
    "api/v1", "apis/admissionregistration.k8s.io/v1", "apis/apiextensions.k8s.io/v1", "apis/apiregistration.k8s.io/v1",
    "apis/apps/v1", "apis/autoscaling/v2", "apis/batch/v1", "apis/certificates.k8s.io/v1",
    "apis/coordination.k8s.io/v1", "apis/discovery.k8s.io/v1", "apis/events.k8s.io/v1",
    "apis/flowcontrol.apiserver.k8s.io/v1", "apis/networking.k8s.io/v1", "apis/node.k8s.io/v1", "apis/policy/v1",
    "apis/rbac.authorization.k8s.io/v1", "apis/resource.k8s.io/v1", "apis/scheduling.k8s.io/v1",
    "apis/storage.k8s.io/v1",
)  # fmt: skip
BROKEN = "Internal error occurred: see the log of the service"
METHODS = ("get", "put", "post", "patch", "delete")
QUERY_LEFT_OUT = ("watch", "timeoutSeconds")


def documents(served: Served, group: str) -> Any:
    document = served.get(f"/openapi/v3/{group}")
    return schemathesis.openapi.from_dict(document), document


@pytest.mark.parametrize("group", GROUPS)
def test_no_request_is_an_error_of_the_server(served: Served, group: str) -> None:
    ask_all(served, group, GenerationMode.POSITIVE, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("group", GROUPS)
def test_no_request_of_many_is_an_error_of_the_server(served: Served, group: str, mode: Any) -> None:
    ask_all(served, group, mode, MANY)


@pytest.fixture
def defined(served: Served) -> Iterator[str]:
    """The group of kinds that the cluster defines."""
    for each in (DENS, RIVERS):
        made = served.send("POST", DEFINITIONS, each)
        assert made.status == 201, made.body
    yield f"apis/{DENS['spec']['group']}/v1"
    for each in (DENS, RIVERS):
        assert served.ask("DELETE", f"{DEFINITIONS}/{each['metadata']['name']}").status == 200


def test_no_request_about_kinds_of_a_cluster_is_an_error_of_the_server(served: Served, defined: str) -> None:
    ask_all(served, defined, GenerationMode.POSITIVE, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_of_many_about_kinds_of_a_cluster_is(served: Served, defined: str, mode: Any) -> None:
    ask_all(served, defined, mode, MANY)


def test_every_group_that_is_served_is_asked(served: Served) -> None:
    root = served.get("/openapi/v3", Accept="application/json")
    with_objects = {path for path in root["paths"] if path.rpartition("/")[2].startswith("v")}
    assert with_objects - {"apis/authentication.k8s.io/v1", "apis/authorization.k8s.io/v1"} == set(GROUPS)


def ask_all(served: Served, group: str, mode: Any, examples: int) -> None:
    schema, document = documents(served, group)
    failures: list[str] = []
    with requests.Session() as session:  # one connection: most of the time went into making others
        for path, item in sorted(document["paths"].items()):
            for method in METHODS:
                if method in item and "/watch/" not in path:
                    failures += ask(served, session, schema[path][method.upper()], mode, examples)
    assert failures == []


def ask(served: Served, session: requests.Session, operation: Any, mode: Any, examples: int) -> list[str]:
    failures: list[str] = []

    @given(case=operation.as_strategy(mode), there=st.booleans())
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def one(case: Any, there: bool) -> None:
        lead_to(case, there)
        answer = case.call(
            base_url=served.url, session=session, headers={"Authorization": f"Bearer {served.admin}"}, verify=False,
            timeout=HANG_SECONDS,
        )  # fmt: skip
        if answer.status_code >= 500 and not is_of_the_request(answer):
            failures.append(f"{case.as_curl_command()[:2000]} -> {answer.status_code} {answer.content[:300]!r}")

    with suppress(Unsatisfiable):  # there is nothing to forbid
        one()
    return failures


def is_of_the_request(answer: Any) -> bool:
    """Whether the API server means what it was sent, and says so in a Status, as kube-apiserver does."""
    try:
        status = json.loads(answer.content)
    except ValueError:
        return False
    return status.get("kind") == "Status" and bool(status.get("message")) and status["message"] != BROKEN


def lead_to(case: Any, there: bool) -> None:
    """Let requests reach what is there; watches and what only waits is left out."""
    values = case.path_parameters or {}
    if there and isinstance(values.get("namespace"), str):
        values["namespace"] = "default"
    for name in QUERY_LEFT_OUT:
        (case.query or {}).pop(name, None)
    for name in ("resourceVersion", "resourceVersionMatch"):
        if there:
            (case.query or {}).pop(name, None)
