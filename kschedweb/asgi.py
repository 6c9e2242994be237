"""The ASGI application: pages and REST by Django, WebSockets by the live feed.

Here the feed, which stands below the apps, is given the logs it reads and who may watch what; and it is told which
requests are about the past, which a process of its own may answer.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()  # before models are imported: it sets Django up

from channels.routing import ProtocolTypeRouter  # noqa: E402

from kschedweb.accounts import sockets  # noqa: E402
from kschedweb.cluster.intake import limits  # noqa: E402
from kschedweb.common.asgi import Receive, Scope, Send  # noqa: E402
from kschedweb.common.bodies import Bodies, Large, Refused  # noqa: E402
from kschedweb.common.parts import Parts  # noqa: E402
from kschedweb.common.relay import EndedError, Relay  # noqa: E402
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


def is_of_past(scope: Scope) -> bool:
    """Whether a request of the service's own API needs a moment made again: by what it asks, or wherever `at` says.

    Requests that change something, such as what would make a pod fit, do so here.
    """
    match scope["path"].split("/"):
        case ["", "api", "clusters", _, "fits"]:
            return scope["method"] in ("GET", "HEAD", "POST")  # it takes the manifest of a pod, and stores nothing
        case ["", "api", *_] if scope["method"] not in ("GET", "HEAD"):
            return False
        case ["", "api", "clusters", _, "cache"]:
            return True
        case ["", "api", "clusters", _, "attempts", _, "again" | "changed" | "why"]:
            return True
        case ["", "api", "clusters", _, "pods", _, _, "evicted" | "fits" | "why"]:
            return True
        case ["", "api", "clusters", _, "workloads", _, _, _, "fits"]:
            return True
        case ["", "api", "clusters", _, "history", "export"]:
            return True
        case ["", "api", *_]:
            query = scope.get("query_string", b"").decode("latin1")
            return any(name == "at" for name, _ in parse_qsl(query, keep_blank_values=True))
    return False


class Rest:
    """The service's own API and pages, behind `Bodies`: what is asked about the past goes to `past`.

    There whoever asks has a share too. Strangers are answered here: nothing is made for them.
    """

    def __init__(self, past: Relay | None) -> None:
        self._past = past
        self._present = Shares(django_application, sockets.holder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._past is None or not is_of_past(scope) or sockets.holder(scope) is None:
            await self._present(scope, receive, send)
            return
        parts = []
        while (message := await receive())["type"] == "http.request":
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        else:
            return  # the client has hung up
        try:
            await self._past(scope, b"".join(parts), receive, send)
        except EndedError:
            raise Refused(503, "past_unavailable", "the process that reads the past has ended, try again") from None


class Http:
    """The Kubernetes API has connections of its own kind; everything else is Django's."""

    def __init__(self, past: Relay | None) -> None:
        self._kubernetes = KubeApi(past)
        self._django = Parts(Bodies(Rest(past), large))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        belongs = is_path(scope["path"])
        await (self._kubernetes if belongs else self._django)(scope, receive, send)


def made(past: Relay | None = None) -> ProtocolTypeRouter:
    """The application; `past`: who answers what is asked about the past, unless this process does."""
    return ProtocolTypeRouter({"http": Http(past), "websocket": websocket_application(Feed(Logs()), Gate())})


application = made()
