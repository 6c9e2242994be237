"""The ASGI application: pages and REST by Django, WebSockets by the live feed.

Here the feed, which stands below the apps, is given the logs it reads and who may watch what.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()  # before models are imported: it sets Django up

from channels.routing import ProtocolTypeRouter  # noqa: E402

from kschedweb.accounts import sockets  # noqa: E402
from kschedweb.cluster.intake import limits  # noqa: E402
from kschedweb.common.asgi import Receive, Scope, Send  # noqa: E402
from kschedweb.common.bodies import Bodies, Large  # noqa: E402
from kschedweb.common.parts import Parts  # noqa: E402
from kschedweb.common.shares import Shares  # noqa: E402
from kschedweb.kubeapi.application import KubeApi, is_path  # noqa: E402
from kschedweb.live.consumers import UNKNOWN_CLUSTER  # noqa: E402
from kschedweb.live.feed import Feed, LogRange  # noqa: E402
from kschedweb.live.guard import OK, Watcher  # noqa: E402
from kschedweb.live.routing import websocket_application  # noqa: E402
from kschedweb.traces import selectors  # noqa: E402
from kschedweb.views import Cursor  # noqa: E402


class Logs:
    """Both logs of every cluster, as the live feed reads them."""

    def head(self, cluster_id: int) -> Cursor | None:
        return selectors.head(cluster_id)

    def read(self, cluster_id: int, after: Cursor, limit: int) -> LogRange:
        return selectors.log_range(cluster_id, after, limit)


class Gate:
    """Whoever has a role in a cluster may watch it."""

    def credential(self, scope: Mapping[str, Any]) -> Hashable | None:
        return sockets.credential(scope)

    def verdicts(self, watchers: Sequence[Watcher]) -> list[int]:
        codes = sockets.verdicts(watchers)
        known = {cluster_id for _, cluster_id in watchers if selectors.head(cluster_id) is not None}
        return [
            code if code != OK or cluster_id in known else UNKNOWN_CLUSTER
            for code, (_, cluster_id) in zip(codes, watchers, strict=True)
        ]


# Below a cluster, by the last part of the path; an import with what a form puts around it.
LARGE_BODIES = {
    ("POST", "import"): limits.load().received_bytes + limits.MIB,
    ("POST", "objects"): 2 * limits.MIB,
    ("PUT", "scheduler-config"): 2 * limits.MIB,
}


def large(scope: Mapping[str, Any]) -> Large | None:
    """The routes that take more than a small body, for operators of the cluster."""
    match scope["path"].split("/"):
        case ["", "api", "clusters", number, last] if number.isascii() and number.isdigit() and len(number) < 19:
            limit = LARGE_BODIES.get((scope["method"], last))
            return None if limit is None else Large(limit, lambda: sockets.may_upload(scope, int(number)))
    return None


class Http:
    """The Kubernetes API has connections of its own kind; everything else is Django's."""

    def __init__(self) -> None:
        self._kubernetes = KubeApi()
        self._django = Parts(Bodies(Shares(django_application, sockets.holder), large))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        belongs = is_path(scope["path"])
        await (self._kubernetes if belongs else self._django)(scope, receive, send)


application = ProtocolTypeRouter(
    {
        "http": Http(),
        "websocket": websocket_application(Feed(Logs()), Gate()),
    }
)
