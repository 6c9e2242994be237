"""A server with kinds of its own, and what tests ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver import asking
from tests.core.apiserver.asking import empty_server
from tests.core.apiserver.custom_samples import DENS, GROUP, RIVERS

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEN_PATH = f"/apis/{GROUP}/v1/namespaces/default/dens"
RIVER_PATH = f"/apis/{GROUP}/v1/rivers"


def new_server(*definitions: Mapping[str, Any]) -> ApiServer:
    """A server that has these definitions, or those of dens and rivers."""
    server = empty_server(keeps_history=True)
    for one in definitions or (DENS, RIVERS):
        reply = send(server, "POST", DEFINITIONS, one)
        assert reply.code == 201, reply.body
    return server


def send(server: ApiServer, method: str, path: str, *body: Any, **more: Any) -> Reply:
    return asking.send(server, method, path, *body, **{"fieldManager": "tests", **more})


def made(server: ApiServer, path: str, body: Any) -> dict[str, Any]:
    reply = send(server, "POST", path, body)
    assert reply.code == 201, reply.body
    return dict(reply.body)
