"""schemathesis over the whole OpenAPI schema, with a token that may do everything: no 5xx, no violation of the schema.

Each operation is asked with values its schema allows and with values it forbids, which it has to refuse; refusals are
answers too, and have to look as the schema says. The values are the same in every run. Parameters often lead to what
is there, so that requests get further than their first line.
"""

from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.core.wsgi import get_wsgi_application
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kschedweb.accounts import services
from kschedweb.cluster import services as cluster_services
from kschedweb.rest.openapi import METHODS
from tests.web import rest
from tests.web.scheduling.conftest import lead, settle

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from schemathesis import GenerationMode  # noqa: E402
from schemathesis import checks as general  # noqa: E402
from schemathesis.specs.openapi import checks as openapi  # noqa: E402

ONE, FEW, MANY = 1, 2, 60  # examples for each operation and mode
# Not that allowed values are accepted: what objects, files and configurations have to hold is more than OpenAPI says.
CHECKS = [
    general.not_a_server_error, openapi.status_code_conformance, openapi.content_type_conformance,
    openapi.response_headers_conformance, openapi.response_schema_conformance, openapi.negative_data_rejection,
]  # fmt: skip
THERE = {"kind": "Pod", "namespace": "default", "seq": 1, "version": 1}
NAMES = {"nodes": "n1", "pods": "p1", "objects": "p1"}
# These would end what the other requests are about: they get ids of nothing.
ENDS = {("/api/clusters/{cluster_id}", "delete"), ("/api/tokens/{token_id}", "delete")}
# Asked for without a value, or with a text of any kind: there is none to forbid.
WITHOUT_VALUES = {"/api/csrf", "/api/clusters/{cluster_id}/scheduler-config/check"}

described = orjson.loads(OpenApiJsonRenderer().render(SchemaGenerator().get_schema(request=None, public=True)))
schema = schemathesis.openapi.from_dict(described)
schema.app = get_wsgi_application()
OPERATIONS = [
    (path, method) for path, item in sorted(described["paths"].items()) for method in METHODS if method in item
]


@pytest.fixture(scope="module")
def access(committed: None) -> tuple[str, int]:
    """A token, and a cluster with a past to ask about."""
    root = User.objects.create_superuser("schemathesis")
    cluster = cluster_services.cluster_create(name="schemathesis")
    pods = [rest.pod(namespace="default"), rest.pod("big", cpu="64", namespace="default")]
    assert rest.upload(rest.logged_in("schemathesis"), cluster, rest.items(rest.node(), *pods)).status_code == 201
    settle(lead(cluster))
    return services.token_create(user=root, name="fuzz", max_role="admin", days=1, actor="test")[1], cluster.pk


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_allowed_values(path: str, method: str, access: tuple[str, int]) -> None:
    ask(path, method, access, GenerationMode.POSITIVE, ONE)


@pytest.mark.parametrize(("path", "method"), [one for one in OPERATIONS if one[0] not in WITHOUT_VALUES])
def test_forbidden_values(path: str, method: str, access: tuple[str, int]) -> None:
    ask(path, method, access, GenerationMode.NEGATIVE, FEW)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_many_values(path: str, method: str, mode: Any, access: tuple[str, int]) -> None:
    if path not in WITHOUT_VALUES:
        ask(path, method, access, mode, MANY)


def ask(path: str, method: str, access: tuple[str, int], mode: Any, examples: int) -> None:
    secret, cluster_id = access

    @given(case=schema[path][method.upper()].as_strategy(mode), there=st.booleans())
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def one(case: Any, there: bool) -> None:
        lead_to(case, path, cluster_id, there, ends=(path, method) in ENDS)
        # The client in use here does not decompress; how answers are compressed has tests of its own.
        headers = {"Authorization": f"Bearer {secret}", "Accept-Encoding": "identity"}
        case.call_and_validate(headers=headers, checks=CHECKS)

    one()


def lead_to(case: Any, path: str, cluster_id: int, there: bool, *, ends: bool) -> None:
    """Put in ids of what is there; values of another type were forbidden on purpose and stay."""
    values = case.path_parameters or {}
    kind = path.removeprefix("/api/clusters/{cluster_id}/").partition("/")[0]
    wanted: dict[str, Any] = {**THERE, "name": NAMES.get(kind, "x")} if there else {}
    if ends:
        wanted = {"cluster_id": 2**40, "token_id": 2**40}
    else:
        wanted["cluster_id"] = cluster_id
    for name, value in wanted.items():
        if name in values and type(values[name]) is type(value):
            values[name] = value


@pytest.mark.django_db
def test_schema_asked_is_the_one_served() -> None:
    assert rest.logged_in().get("/api/schema?format=json").json() == described
    assert len(OPERATIONS) > 40
