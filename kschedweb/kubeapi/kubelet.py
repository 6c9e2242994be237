"""What kubelets answer upstream, logs and connections to containers: there are none here, and no containers run.

So each answer is that of an API server which cannot reach the node. Source: kubernetes v1.34.1,
pkg/registry/core/pod/strategy.go and pkg/apis/core/validation (ValidatePodLogOptions).
"""

from __future__ import annotations

from typing import Any, Final

from kschedweb.kubeapi.exchange import Answer, Query, RefusedError
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Cause, Status
from scheduler_core.apiserver.numbers import NumberError, parse_int
from scheduler_core.apiserver.options import first
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.routes import Route
from scheduler_core.apiserver.store import Store

PARTS: Final = ("log", "exec", "attach", "portforward", "proxy")
_NOT_NEGATIVE: Final = ("tailLines",)
_POSITIVE: Final = ("limitBytes", "sinceSeconds")


def answer(store: Store, found: Route, query: Query) -> Answer:
    """Answer a request for a part of a pod that a kubelet has; RefusedError."""
    key = ObjectKey("Pod", found.namespace, found.name)
    if found.subresource == "log":
        _check_options(found.name, query)
    pod = store.get(key)
    if pod is None:
        raise RefusedError(answers.not_found(key).status)
    spec = pod["spec"]
    if found.subresource == "log":
        _check_container(found.name, spec, first(query, "container"))
    node_name = spec.get("nodeName") or ""
    if not node_name:
        if found.subresource == "log":
            return Answer(204, b"", "")
        message = (
            "address not allowed" if found.subresource == "proxy" else f"pod {found.name} does not have a host assigned"
        )
        raise RefusedError(Status(400, "BadRequest", message))
    if store.get(ObjectKey("Node", "", node_name)) is None:
        # Upstream names the resource of the request.
        raise RefusedError(Status(404, "NotFound", f'pods "{node_name}" not found', node_name, "", "pods"))
    raise RefusedError(Status(500, "", "no preferred addresses found; known addresses: []"))


def _check_container(pod: str, spec: dict[str, Any], wanted: str) -> None:
    names = [str(one["name"]) for one in spec.get("containers") or ()]
    others = [str(one["name"]) for part in ("initContainers", "ephemeralContainers") for one in spec.get(part) or ()]
    if not wanted and len(names) > 1:
        message = f"a container name must be specified for pod {pod}, choose one of: [{' '.join(names)}]"
        raise RefusedError(Status(400, "BadRequest", message))
    if wanted and wanted not in (*names, *others):
        raise RefusedError(Status(400, "BadRequest", f"container {wanted} is not valid for pod {pod}"))


def _check_options(pod: str, query: Query) -> None:
    for name in (*_NOT_NEGATIVE, *_POSITIVE):
        text = first(query, name)
        if not text:
            continue
        try:
            number = parse_int(text)
        except NumberError as error:
            raise RefusedError(Status(400, "BadRequest", str(error))) from None
        least, words = (0, "greater than or equal to 0") if name in _NOT_NEGATIVE else (1, "greater than 0")
        if number < least:
            cause = Cause("FieldValueInvalid", f"Invalid value: {number}: must be {words}", name)
            message = f'PodLogOptions "{pod}" is invalid: {name}: {cause.message}'
            raise RefusedError(Status(422, "Invalid", message, pod, "", "PodLogOptions", causes=(cause,)))
