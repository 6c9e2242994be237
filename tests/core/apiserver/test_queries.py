"""Parameters of requests, read as the API server reads them; the fields by which each kind can be selected."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.selection import SelectionError, field_terms, selection
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.watch import Watch
from tests.core.apiserver.asking import NOW, call, pod

PODS = "/api/v1/namespaces/default/pods"
POD = f"{PODS}/p"
NAME, NAMESPACE = "metadata.name", "metadata.namespace"


@pytest.fixture
def asked(server: ApiServer) -> Any:
    """A function that asks a server with a pod `p`."""
    server.carry_out([*bootstrap_requests(NOW), pod()], NOW)
    return partial(call, server)


def parse_int(text: str) -> str:
    return f'strconv.ParseInt: parsing "{text}": invalid syntax'


@pytest.mark.parametrize(
    ("method", "path", "query", "code", "message"),
    [
        ("GET", PODS, {"limit": "x"}, 400, parse_int("x")),
        ("GET", PODS, {"limit": ""}, 400, parse_int("")),
        ("GET", PODS, {"timeoutSeconds": "x"}, 400, parse_int("x")),
        ("GET", PODS, {"timeoutSeconds": "1.5", "limit": "x"}, 400, parse_int("1.5")),
        ("GET", PODS, {"timeoutSeconds": "x", "labelSelector": ","}, 400, parse_int("x")),
        ("GET", PODS, {"watch": "true", "timeoutSeconds": "5s"}, 400, parse_int("5s")),
        ("DELETE", PODS, {"timeoutSeconds": "x"}, 400, parse_int("x")),
        ("DELETE", PODS, {"gracePeriodSeconds": ""}, 400, parse_int("")),
        ("DELETE", POD, {"gracePeriodSeconds": "1s"}, 400, parse_int("1s")),
        ("DELETE", POD, {"gracePeriodSeconds": "99999999999999999999"}, 400,
         'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("DELETE", POD, {"propagationPolicy": ""}, 422,
         'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "": supported values:'
         ' "Foreground", "Background", "Orphan", "nil"'),
        ("DELETE", POD, {"propagationPolicy": "x", "orphanDependents": "0"}, 422,
         'DeleteOptions.meta.k8s.io "" is invalid: [propagationPolicy: Invalid value: "x": orphanDependents and'
         ' deletionPropagation cannot be both set, propagationPolicy: Unsupported value: "x": supported values:'
         ' "Foreground", "Background", "Orphan", "nil"]'),
        ("DELETE", POD, {"dryRun": ""}, 422,
         'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"'),
        ("DELETE", POD, {"uid": "x"}, 409, None),
        ("DELETE", POD, {"resourceVersion": "77"}, 409, None),
        ("POST", PODS, {"dryRun": ""}, 422,
         'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"'),
        ("PATCH", POD, {"force": "x"}, 422,
         'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'),
        ("GET", PODS, {"sendInitialEvents": "0", "resourceVersionMatch": "Exact"}, 422,
         'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden'
         " unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]"),
        ("GET", "/api/v1/watch/namespaces/default/pods/p", {"fieldSelector": "metadata.name=q"}, 400,
         "fieldSelector metadata.name doesn't match requested name"),
    ],
)  # fmt: skip
def test_parameters_that_are_refused(
    asked: Any, method: str, path: str, query: dict[str, str], code: int, message: str | None
) -> None:
    reply = asked(method, path, None if method == "DELETE" else {}, **query)
    assert isinstance(reply, Reply) and reply.code == code
    assert message is None or reply.body["message"] == message


@pytest.mark.parametrize(("value", "watches"), [("", True), ("no", True), ("0", False), ("False", False)])
def test_flags_are_off_by_two_words_only(asked: Any, value: str, watches: bool) -> None:
    assert isinstance(asked("GET", PODS, watch=value), Watch) == watches
    watch = asked("GET", PODS, watch="1", allowWatchBookmarks=value)
    assert watch.tells_bookmarks == watches
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}}
    asked("PATCH", POD, config, PatchType.APPLY, fieldManager="one")
    config = {**config, "metadata": {"name": "p", "labels": {"a": "c"}}}
    assert asked("PATCH", POD, config, PatchType.APPLY, fieldManager="two", force=value).code == (
        200 if watches else 409
    )


@pytest.mark.parametrize(
    ("path", "query"), [(POD, {"fieldSelector": "metadata.name=p"}), (PODS, {"fieldSelector": "metadata.name=p"})]
)
def test_watch_of_one_object_may_say_its_name(asked: Any, path: str, query: dict[str, str]) -> None:
    watch = asked("GET", path.replace("/v1/", "/v1/watch/"), **query)
    assert isinstance(watch, Watch) and watch.selection.is_of_one_name


# Beside the name and the namespace.
FIELDS = {
    "Pod": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName", "spec.host",
    ),
    "Node": ("spec.unschedulable",),
    "ReplicationController": ("status.replicas",),
    "Namespace": ("status.phase",),
    "Secret": ("type",),
    "Service": ("spec.clusterIP", "spec.type"),
    "Job": ("status.successful",),
    "ResourceSlice": ("spec.nodeName", "spec.driver"),
    "CertificateSigningRequest": ("spec.signerName",),
    "Event": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source", "type",
    ),
}  # fmt: skip
OTHERS = {"Job": 'field label "name" not supported for Job'} | {
    "ResourceSlice": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: name"
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].is_served])
def test_fields_by_which_a_kind_can_be_selected(kind: str) -> None:
    for field in (NAME, *FIELDS.get(kind, ())):
        assert field_terms(kind, f"{field}=x")
    generic = f'"name" is not a known field selector: only "{NAME}", "{NAMESPACE}"'
    message = OTHERS.get(kind, "field label not supported: name" if kind in FIELDS else generic)
    with pytest.raises(SelectionError) as refused:
        field_terms(kind, "name=x")
    assert str(refused.value) == message
    if kind in ("Node", "Namespace", "ResourceSlice", "CertificateSigningRequest"):
        with pytest.raises(SelectionError):
            field_terms(kind, f"{NAMESPACE}=x")
    else:
        assert field_terms(kind, f"{NAMESPACE}=x")


def test_fields_of_events_in_their_own_group() -> None:
    names = ("regarding.kind", "regarding.uid", "reportingController", "source", "reason", "type", NAME, NAMESPACE)
    assert all(field_terms("Event", f"{name}=x", is_new_form=True) for name in names)
    for name in ("involvedObject.kind", "reportingComponent"):
        with pytest.raises(SelectionError, match=f"^field label not supported: {name}$"):
            field_terms("Event", f"{name}=x", is_new_form=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("z=1,a=1", "field label not supported: a"),
    ],
)
def test_field_selectors_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(SelectionError) as refused:
        field_terms("Pod", text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("status.podIPs=10.0.0.7", False),
        ("status.podIPs=", True),
        ("status.podIPs!=10.0.0.7", True),
        ("status.podIP=10.0.0.7", True),
        ("spec.host=n", True),
        ("metadata.name==p", True),
        ("metadata.name=p\\,q", False),
        (",metadata.name=p,", True),
    ],
)
def test_what_fields_select(text: str, matches: bool) -> None:
    ips = {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]}
    manifest = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "n"}, "status": ips}
    assert selection("Pod", "default", "", text).matches(manifest) == matches
