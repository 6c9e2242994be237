"""The WebSocket routes: one for each cluster, opened and kept open by what the gate says."""

from typing import Any

from channels.routing import URLRouter
from django.urls import re_path

from kschedweb.live.consumers import ClusterConsumer
from kschedweb.live.feed import Feed
from kschedweb.live.guard import Gate, Guard


def websocket_application(feed: Feed, gate: Gate, guard: Guard | None = None) -> Any:
    """The ASGI application for WebSockets."""
    consumer = ClusterConsumer.as_asgi(feed=feed, gate=gate, guard=guard or Guard(gate))
    return URLRouter([re_path(r"^ws/clusters/(?P<cluster_id>\d{1,18})/$", consumer)])
