"""Calls of the Kubernetes API answered by the rules: what an HTTP shell asks, once it has decoded a request.

`answer(server, call, now)` gives a `Reply`: a code, a body (an object, a list or a Status as manifest) and warnings; or
a `Watch`, whose events the shell streams (see `watch`). `answer_together` answers several writes that are committed
together. The shell decodes bodies, chooses media types, authenticates, serves discovery and OpenAPI, and shows objects
as tables (`tables`) or as metadata only where a client asks for that.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answering import Answering, Call
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.custom.routes import route_in
from scheduler_core.apiserver.custom_answering import CustomAnswering
from scheduler_core.apiserver.replies import Asked, RefusedError, Reply, status_reply
from scheduler_core.apiserver.routes import Route
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import History
from scheduler_core.apiserver.warnings import DEPRECATED
from scheduler_core.apiserver.watch import Watch

__all__ = ["Call", "answer", "answer_together"]

_METHOD_TEXT: Final = "the server does not allow this method on the requested resource"


def answer(server: ApiServer[History], call: Call, now: int) -> Reply | Watch:
    """Carry out the call at this time, in microseconds."""
    found = route_in(server.store, call.path)
    if found is None or not found.methods():
        return status_reply(answers.no_such_resource().status)
    if call.method not in found.methods():
        return status_reply(Status(405, "MethodNotAllowed", _METHOD_TEXT, is_generic=True))
    try:
        reply = _answering(server, call, found, now).answer()
    except RefusedError as error:
        reply = status_reply(error.refused.status)
    return reply if isinstance(reply, Watch) else _deprecated(reply, found)


def answer_together(server: ApiServer[History], together: Sequence[Call], now: int) -> list[Reply]:
    """Carry out calls of different objects (see `grouping`) in one transaction; the replies in their order."""
    begun: list[tuple[Answering, Route, Asked | Reply]] = []
    for call in together:
        found = route_in(server.store, call.path)
        assert found is not None
        answering = _answering(server, call, found, now)
        begun.append((answering, found, answering.asked()))
    asked = [each.request for _, _, each in begun if isinstance(each, Asked)]
    results = iter(server.carry_out(asked, now) if asked else ())
    return [
        _deprecated(each if isinstance(each, Reply) else answering.replied(each, next(results)), found)
        for answering, found, each in begun
    ]


def _deprecated(reply: Reply, found: Route) -> Reply:
    """The reply, with a warning of kinds that are going out of use."""
    warning = DEPRECATED.get(found.kind.name) or found.warning or None
    return reply if warning is None else msgspec.structs.replace(reply, warnings=(warning, *reply.warnings))


def _answering(server: ApiServer[History], call: Call, found: Route, now: int) -> Answering:
    if found.definition is not None:
        return CustomAnswering(server, call, found, now)
    return Answering(server, call, found, now)
