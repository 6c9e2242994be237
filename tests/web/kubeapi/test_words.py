"""What the shell itself decides, without a service: who may do what, in which form, and words for what is not JSON."""

import json
from typing import Any

import pytest

from kschedweb.accounts.choices import Role
from kschedweb.kubeapi import access, discovery, media, protobuf
from kschedweb.kubeapi.access import Attributes, Principal
from kschedweb.kubeapi.exchange import Answer, RefusedError, Request
from scheduler_core.apiserver.go_json import problem_of

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces/a/pods/p", Attributes("get", "", "", "pods", "", "a", "p")),
        ("GET", "/apis/apps/v1/deployments", Attributes("list", "", "apps", "deployments")),
        ("DELETE", "/api/v1/namespaces/a/pods", Attributes("deletecollection", "", "", "pods", "", "a")),
        ("PUT", "/api/v1/namespaces/a/finalize", Attributes("update", "", "", "namespaces", "finalize", "a", "a")),
        ("POST", "/api/v1/namespaces/a/pods/p/eviction", Attributes("create", "", "", "pods", "eviction", "a", "p")),
        ("GET", "/apis/apps/v1", Attributes("get", "/apis/apps/v1")),
    ],
)
def test_what_a_request_wants_follows_from_its_address(method: str, path: str, expected: Attributes) -> None:
    found = access.attributes_of(method, path, {})
    assert (found.verb, found.group, found.resource, found.subresource, found.namespace, found.name) == (
        expected.verb, expected.group, expected.resource, expected.subresource, expected.namespace, expected.name,
    )  # fmt: skip


def test_a_watch_and_a_selected_name_count() -> None:
    found = access.attributes_of("GET", "/api/v1/pods", {"watch": ["1"], "fieldSelector": ["metadata.name=p"]})
    assert (found.verb, found.name) == ("watch", "p")


@pytest.mark.parametrize(
    ("role", "verb", "allowed"),
    [
        (Role.VIEWER, "list", True),
        (Role.VIEWER, "create", False),
        (Role.OPERATOR, "deletecollection", True),
        (Role.ADMIN, "patch", True),
        (None, "get", False),
    ],
)
def test_roles_are_verbs(role: Role | None, verb: str, allowed: bool) -> None:
    assert access.allows(Principal("ada", (), role), Attributes(verb, resource="pods")) is allowed


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", media.Form()),
        ("application/vnd.kubernetes.protobuf, application/json", media.Form()),
        (f"{TABLE},application/json", media.Form("application/json", "Table", "meta.k8s.io/v1")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", media.Form()),
        ("application/yaml", media.Form("application/yaml")),
        ("text/html;q=0.9,*/*;q=0.8", media.Form()),
    ],
)
def test_a_form_is_agreed_on(accept: str, expected: media.Form) -> None:
    assert media.form(accept) == expected


@pytest.mark.parametrize(
    "accept", ["application/vnd.kubernetes.protobuf", "application/*", "image/png", TABLE.replace("v1", "v9")]
)
def test_other_forms_are_not_acceptable(accept: str) -> None:
    with pytest.raises(RefusedError) as refused:
        media.form(accept)
    assert refused.value.status.code == 406


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, -0.5e+3, "\\u00e9", null, true]}', ""),
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("{'a': 1}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a": 1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1.]", "invalid character ']' after decimal point in numeric literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
    ],
)
def test_what_is_not_json_is_told_in_the_words_of_go(text: str, expected: str) -> None:
    assert problem_of(text) == expected


def test_a_review_in_protobuf() -> None:
    attributes = b"\x0a\x01a\x12\x03get\x2a\x04pods"
    spec = b"\x0a" + bytes([len(attributes)]) + attributes
    raw = b"\x0a\x00\x12" + bytes([len(spec)]) + spec
    body = b"k8s\0\x0a\x00\x12" + bytes([len(raw)]) + raw
    found = protobuf.read_object(body, "authorization.k8s.io/v1", "SelfSubjectAccessReview")
    assert found["spec"] == {"resourceAttributes": {"namespace": "a", "verb": "get", "resource": "pods"}}


@pytest.mark.parametrize(
    ("group", "resource"),
    [
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("apiregistration.k8s.io", "apiservices"),
        ("certificates.k8s.io", "certificatesigningrequests"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("networking.k8s.io", "ingresses"),
        ("rbac.authorization.k8s.io", "clusterroles"),
    ],
)
def test_groups_of_kept_kinds_are_discovered(group: str, resource: str) -> None:
    version = {"groupVersion": f"{group}/v1", "version": "v1"}
    (entry,) = (each for each in discovered("/apis")["groups"] if each["name"] == group)
    assert entry == {"name": group, "versions": [version], "preferredVersion": version}
    assert discovered(f"/apis/{group}") == {"kind": "APIGroup", "apiVersion": "v1", **entry}
    listed = discovered(f"/apis/{group}/v1")
    assert listed["groupVersion"] == f"{group}/v1" and resource in [each["name"] for each in listed["resources"]]
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    (whole,) = (each for each in discovered("/apis", aggregated)["items"] if each["metadata"]["name"] == group)
    assert resource in [each["resource"] for each in whole["versions"][0]["resources"]]


def discovered(path: str, accept: str = "application/json") -> dict[str, Any]:
    answer = discovery.answer(Request("c", "GET", path, {}, {"accept": accept}))
    assert answer is not None and answer.code == 200
    found: dict[str, Any] = json.loads(answer.content())
    return found


ANNOTATIONS = r'{"a":"\u003c\u0026\u003e\u2028é"}'
PATCH = f'{{"spec":{{"template":{{"$patch":"replace","metadata":{{"annotations":{ANNOTATIONS}}},"spec":{{}}}}}}}}'


def test_data_of_revisions_has_the_bytes_of_their_controllers() -> None:
    """Whose keys are in order, which those of the database are not; clients compare the bytes."""
    data = {"spec": {"template": {"spec": {}, "metadata": {"annotations": {"a": "<&>\u2028é"}}, "$patch": "replace"}}}
    revision = {"kind": "ControllerRevision", "metadata": {"name": "r"}, "data": data, "revision": 1}
    item = {name: value for name, value in revision.items() if name != "kind"}
    bare = {"metadata": {"name": "bare"}, "revision": 2}
    listed = {"kind": "ControllerRevisionList", "metadata": {}, "items": [item, bare]}
    for body in (revision, listed):
        content = Answer(200, body).content()
        assert f'"data":{PATCH}' in content.decode()
        assert json.loads(content) == body
    shown = Answer(200, revision, media_type="application/yaml").content()
    assert b"$patch: replace" in shown
