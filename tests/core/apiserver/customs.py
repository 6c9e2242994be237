"""A server with kinds of its own, and what tests ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import NOW
from tests.core.apiserver.custom_samples import DENS, GROUP, RIVERS

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEN_PATH = f"/apis/{GROUP}/v1/namespaces/default/dens"
RIVER_PATH = f"/apis/{GROUP}/v1/rivers"


def new_server(*definitions: Mapping[str, Any]) -> ApiServer:
    """A server that has these definitions, or those of dens and rivers."""
    numbers = iter(range(1, 1000))
    server = ApiServer(
        MemoryStore(keeps_history=True), lambda: f"00000000-0000-4000-8000-{next(numbers):012}", is_simulated=True
    )
    for one in definitions or (DENS, RIVERS):
        reply = send(server, "POST", DEFINITIONS, one)
        assert reply.code == 201, reply.body
    return server


def send(
    server: ApiServer, method: str, path: str, body: Any = None, patch_type: PatchType = PatchType.MERGE, **query: str
) -> Reply:
    values = {name: [value] for name, value in {"fieldManager": "tests", **query}.items()}
    reply = answer(server, Call(method, path, values, Body(body), patch_type), NOW)
    assert isinstance(reply, Reply)
    return reply


def made(server: ApiServer, path: str, body: Any) -> dict[str, Any]:
    reply = send(server, "POST", path, body)
    assert reply.code == 201, reply.body
    return dict(reply.body)
