"""The row of the WebSocket in the table of who may do what."""

from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from kschedweb import asgi
from kschedweb.accounts import services
from kschedweb.accounts.choices import Role
from kschedweb.cluster.models import Cluster
from tests.web.accounts.table import PRINCIPALS, Principal
from tests.web.live.conftest import Browser

Browse = Callable[..., Browser]


def credentials(principal: Principal, cluster: Cluster) -> tuple[bytes | None, str]:
    """The cookie and the token that the principal of the table's column has."""
    name = principal.name.replace("'s token", "").partition(" for ")[0].strip()
    if principal.name in ("nobody", "revoked token", "token that has expired"):
        name = "superuser"
    user = User.objects.create_user(name, is_superuser=name == "superuser")
    if name in Role.values:
        services.role_set(cluster=cluster, username=name, role=name, actor="test")
    if "token" in principal.name:
        token, secret = services.token_create(user=user, name="t", max_role="viewer", days=1, actor="test")
        if principal.name == "revoked token":
            services.token_revoke(user=None, token_id=token.pk, actor="test")
        if principal.name == "token that has expired":
            token.created_at = token.created_at.replace(year=2020)
            token.expires_at = token.created_at.replace(year=2021)
            token.save()
        return None, secret
    if principal.name == "nobody":
        return None, ""
    client = Client()
    client.force_login(user)
    User.objects.filter(username="closed account").update(is_active=False)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}".encode(), ""


@pytest.mark.parametrize("principal", PRINCIPALS, ids=str)
async def test_cell(browse: Browse, cluster: Cluster, principal: Principal) -> None:
    cookie, token = await sync_to_async(credentials)(principal, cluster)
    browser = browse(cookie=cookie, token=token, origin="" if token else "http://localhost")
    assert await browser.connect() is principal.may(Role.VIEWER)


def test_there_is_no_other_websocket() -> None:
    """A new route fails here until it has cells."""
    routes = asgi.application.application_mapping["websocket"].routes
    assert [str(route.pattern) for route in routes] == [r"^ws/clusters/(?P<cluster_id>\d{1,18})/$"]
