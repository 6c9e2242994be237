"""schemathesis over the whole OpenAPI schema, with a token that may do everything: no 5xx, no violation of the schema.

What it makes up includes what is no good: refusals are answers too, and have to look as the schema says.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, settings

from kschedweb.accounts import services
from kschedweb.accounts.models import AccessRecord
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from tests.web import rest

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from schemathesis import checks as general  # noqa: E402
from schemathesis.specs.openapi import checks as openapi  # noqa: E402

EXAMPLES = 8  # for each operation
CHECKS = (
    general.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
)
schema = schemathesis.pytest.from_fixture("served_schema")


@pytest.fixture(scope="module")
def secret(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """Some views read in a transaction of their own kind, so what they read is committed, and goes in the end."""
    with django_db_blocker.unblock():
        root = User.objects.create_superuser("schemathesis")
        cluster = cluster_services.cluster_create(name="schemathesis")
        rest.upload(rest.logged_in("schemathesis"), cluster, rest.items(rest.node(), rest.pod(namespace="default")))
        yield services.token_create(user=root, name="fuzz", max_role="admin", days=1, actor="test")[1]
        for cluster in Cluster.objects.all():
            cluster_services.cluster_delete(cluster_id=cluster.pk)
        User.objects.all().delete()
        AccessRecord.objects.all().delete()


@pytest.fixture(scope="module")
def served_schema(secret: str) -> Any:
    headers = {"Authorization": f"Bearer {secret}"}
    return schemathesis.openapi.from_wsgi("/api/schema?format=json", get_wsgi_application(), headers=headers)


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_operation(case: Any, secret: str) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {secret}"}, checks=CHECKS)


@pytest.mark.django_db  # one test has to say that there is to be a database
def test_there_are_operations_to_ask() -> None:
    assert len(rest.logged_in().get("/api/schema?format=json").json()["paths"]) > 20
