"""Questions about who asks and what they may do: reviews, which are posted and not stored.

Source: kubernetes v1.34.1, pkg/registry/{authentication,authorization}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.contrib.auth.models import User

from kschedweb.accounts.choices import Role
from kschedweb.accounts.selectors import role_in
from kschedweb.kubeapi import access, decoding, media
from kschedweb.kubeapi.access import Attributes, Principal
from kschedweb.kubeapi.exchange import METHOD_NOT_ALLOWED, Answer, RefusedError, Request
from scheduler_core.apiserver.answers import Cause, Status
from scheduler_core.apiserver.bodies import read_as
from scheduler_core.apiserver.replies import RefusedError as UnreadableError

_PREFIXES: Final = ("/apis/authorization.k8s.io/v1/", "/apis/authentication.k8s.io/v1/")
_RESOURCE_FIELDS: Final = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_READS: Final = ["get", "list", "watch"]
Manifest = dict[str, Any]


def answer(request: Request, who: Principal) -> Answer | None:
    """The review that was asked for; None at other paths."""
    if not request.path.startswith(_PREFIXES):
        return None
    version, _, plural = request.path.strip("/").removeprefix("apis/").rpartition("/")
    review = _REVIEWS.get((version, plural))
    if review is None:
        return None
    if request.method != "POST":
        raise RefusedError(METHOD_NOT_ALLOWED)
    kind, make = review
    form = media.plain_form(request.header("accept"))
    try:
        body, _ = read_as(decoding.read_body(request, version, kind), version, kind, "Ignore")
    except UnreadableError as error:
        raise RefusedError(error.refused.status) from None
    spec = body.get("spec") or {}
    metadata = {"creationTimestamp": None} if plural == "selfsubjectreviews" else {}
    made = make(request, who, spec)
    return Answer(201, {"kind": kind, "apiVersion": version, "metadata": metadata, **made}, form.media_type)


def _self_access(request: Request, who: Principal, spec: Mapping[str, Any]) -> Manifest:
    return _access(request, who, spec)


def _subject_access(request: Request, who: Principal, spec: Mapping[str, Any]) -> Manifest:
    name = str(spec.get("user") or "")
    if not name and not spec.get("groups"):
        detail = 'Invalid value: "": at least one of user or group must be specified'
        raise RefusedError(_invalid(f"spec.user: {detail}", (Cause("FieldValueInvalid", detail, "spec.user"),)))
    user = User.objects.filter(username=name, is_active=True).first() if "\0" not in name else None
    role = role_in(user, None, who.cluster_id) if user is not None else None
    shown = _access(request, Principal(name, (), role), spec)
    shown["spec"] |= {key: spec[key] for key in ("user", "groups", "uid") if spec.get(key)}
    return shown


def _access(request: Request, who: Principal, spec: Mapping[str, Any]) -> Manifest:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (other is None):
        shown = "null" if resource is None else "{}"
        detail = f"Invalid value: {shown}: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes = (Cause("FieldValueInvalid", detail, "spec.resourceAttributes"),)
        raise RefusedError(_invalid(f"spec.resourceAttributes: {detail}", causes))
    if isinstance(resource, Mapping):
        known = {key: str(resource[key]) for key in _RESOURCE_FIELDS if resource.get(key)}
        wanted = Attributes(
            known.get("verb", ""), "", known.get("group", ""), known.get("resource", "*"),
            known.get("subresource", ""), known.get("namespace", ""), known.get("name", ""),
        )  # fmt: skip
        asked: Manifest = {"resourceAttributes": known}
    else:
        asked_other = other if isinstance(other, Mapping) else {}
        known = {key: str(asked_other[key]) for key in ("path", "verb") if asked_other.get(key)}
        wanted = Attributes(known.get("verb", ""), known.get("path", ""))
        asked = {"nonResourceAttributes": known}
    allowed = access.allows(who, wanted)
    status: Manifest = {"allowed": allowed}
    if allowed and request.at is not None and (told := access.refused_in_past(request.at, wanted)):
        status = {"allowed": False, "reason": told}
    elif allowed and who.role is not Role.ADMIN:
        status["reason"] = f'allowed by the role "{who.role}" in the cluster' if who.role else "open to everybody"
    return {"spec": asked, "status": status}


def _self_rules(request: Request, who: Principal, spec: Mapping[str, Any]) -> Manifest:
    namespace = spec.get("namespace")
    if not namespace:
        raise RefusedError(Status(400, "BadRequest", "no namespace on request"))
    is_writer = who.role is not None and who.role.includes(Role.OPERATOR)
    rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    if not is_writer:
        rules = [{"verbs": _READS, **each} for each in access.READABLE] if who.role is not None else []
        resources = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
        rules.append({"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": resources})
        rules.append({"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]})
    paths = ["*"] if is_writer else ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi",
                                     "/openapi/*", "/readyz", "/version", "/version/"]  # fmt: skip
    others = [{"verbs": ["*"] if is_writer else ["get"], "nonResourceURLs": paths}]
    return {"spec": {}, "status": {"resourceRules": rules, "nonResourceRules": others, "incomplete": False}}


def _token(request: Request, who: Principal, spec: Mapping[str, Any]) -> Manifest:
    token = str(spec.get("token") or "")
    if not token:
        cause = Cause("FieldValueRequired", "Required value", "spec.token")
        message = 'TokenReview.authentication.k8s.io "" is invalid: spec.token: Required value'
        raise RefusedError(Status(422, "Invalid", message, "", "authentication.k8s.io", "TokenReview", causes=(cause,)))
    found = access.of_secret(token, request.cluster) if "\0" not in token else None
    asked = {key: spec[key] for key in ("token", "audiences") if spec.get(key)}
    if found is None:
        status: Manifest = {"user": {}, "error": "the token is unknown, revoked or has expired"}
    else:
        status = {"authenticated": True, "user": _user(found)}
    return {"spec": asked, "status": status}


def _self(request: Request, who: Principal, spec: Mapping[str, Any]) -> Manifest:
    return {"status": {"userInfo": _user(who)}}


def _user(who: Principal) -> Manifest:
    return {"username": who.name, "uid": who.uid, "groups": list(who.groups)}


def _invalid(shown: str, causes: tuple[Cause, ...]) -> Status:
    message = f'.authorization.k8s.io "" is invalid: {shown}'
    return Status(422, "Invalid", message, "", "authorization.k8s.io", causes=causes)


_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io/v1", "authentication.k8s.io/v1"
Review = Callable[[Request, Principal, Mapping[str, Any]], Manifest]
_REVIEWS: Final[dict[tuple[str, str], tuple[str, Review]]] = {
    (_AUTHORIZATION, "selfsubjectaccessreviews"): ("SelfSubjectAccessReview", _self_access),
    (_AUTHORIZATION, "subjectaccessreviews"): ("SubjectAccessReview", _subject_access),
    (_AUTHORIZATION, "selfsubjectrulesreviews"): ("SelfSubjectRulesReview", _self_rules),
    (_AUTHENTICATION, "tokenreviews"): ("TokenReview", _token),
    (_AUTHENTICATION, "selfsubjectreviews"): ("SelfSubjectReview", _self),
}
