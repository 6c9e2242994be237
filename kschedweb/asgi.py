"""The ASGI application: pages and REST by Django, WebSockets by the live feed.

Here the feed, which stands below the apps, is given the logs it reads and who may watch what.
"""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()  # before models are imported: it sets Django up

from channels.routing import ProtocolTypeRouter  # noqa: E402

from kschedweb.cluster.intake import limits  # noqa: E402
from kschedweb.common.body_limit import BodyLimit  # noqa: E402
from kschedweb.live.events import Cursor  # noqa: E402
from kschedweb.live.feed import Feed, LogRange  # noqa: E402
from kschedweb.live.routing import websocket_application  # noqa: E402
from kschedweb.traces import selectors  # noqa: E402


class Logs:
    """Both logs of every cluster, as the live feed reads them."""

    def head(self, cluster_id: int) -> Cursor | None:
        return selectors.head(cluster_id)

    def read(self, cluster_id: int, after: Cursor, limit: int) -> LogRange:
        return selectors.log_range(cluster_id, after, limit)


def can_watch(user: Any, cluster_id: int) -> bool:
    """Whoever has logged in may watch every cluster there is."""
    return bool(user.is_authenticated) and selectors.head(cluster_id) is not None


# An upload as large as is allowed, with what a form puts around it.
BODY_LIMIT = limits.load().received_bytes + limits.MIB

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(django_application, BODY_LIMIT),
        "websocket": websocket_application(Feed(Logs()), can_watch),
    }
)
