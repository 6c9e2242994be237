"""The WebSocket routes: one for each cluster, behind the Origin check and the login session."""

from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.urls import re_path

from kschedweb.live.consumers import CanWatch, ClusterConsumer
from kschedweb.live.feed import Feed


def websocket_application(feed: Feed, can_watch: CanWatch) -> Any:
    """The ASGI application for WebSockets."""
    consumer = ClusterConsumer.as_asgi(feed=feed, can_watch=can_watch)
    routes = URLRouter([re_path(r"^ws/clusters/(?P<cluster_id>\d{1,18})/$", consumer)])
    return OriginValidator(AuthMiddlewareStack(routes), [*settings.ALLOWED_HOSTS, *settings.CSRF_TRUSTED_ORIGINS])
