"""What there is: versions, groups and resources, in the older and in the aggregated form; the version of the API.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/{discovery,installer.go}; names and short names
of pkg/registry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from kschedweb.kubeapi import custom_discovery, media
from kschedweb.kubeapi.answering import GROUPS
from kschedweb.kubeapi.exchange import (
    METHOD_NOT_ALLOWED,
    NO_SUCH_RESOURCE,
    Answer,
    RefusedError,
    Request,
    page_not_found,
)
from scheduler_core.apiserver.custom.definitions import Definition
from scheduler_core.apiserver.kinds import KINDS, Kind
from scheduler_core.apiserver.routes import EVENTS_GROUP, Route

# The order in which the API server lists its groups.
GROUP_ORDER: Final = (
    "", "apiregistration.k8s.io", "apps", EVENTS_GROUP, "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
    "batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
    "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io",
)  # fmt: skip
assert set(GROUP_ORDER) == GROUPS
VERSION: Final = {
    "major": "1",
    "minor": "34",
    "emulationMajor": "1",
    "emulationMinor": "34",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "33",
    "gitVersion": "v1.34.1",
    # What a binary says that was built without stamps, as the one was that this service is compared with.
    "gitCommit": "$Format:%H$",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26.6",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_SHORT_NAMES: Final = {
    "Event": ["ev"], "LimitRange": ["limits"], "Namespace": ["ns"], "Node": ["no"], "PersistentVolumeClaim": ["pvc"],
    "PersistentVolume": ["pv"], "Pod": ["po"], "ReplicationController": ["rc"], "ResourceQuota": ["quota"],
    "Service": ["svc"], "DaemonSet": ["ds"], "Deployment": ["deploy"], "ReplicaSet": ["rs"], "StatefulSet": ["sts"],
    "PodDisruptionBudget": ["pdb"], "ConfigMap": ["cm"], "ServiceAccount": ["sa"], "Endpoints": ["ep"],
    "CronJob": ["cj"], "PriorityClass": ["pc"], "StorageClass": ["sc"],
    "VolumeAttributesClass": ["vac"], "Ingress": ["ing"], "NetworkPolicy": ["netpol"], "IPAddress": ["ip"],
    "HorizontalPodAutoscaler": ["hpa"], "CertificateSigningRequest": ["csr"],
    "CustomResourceDefinition": ["crd", "crds"],
}  # fmt: skip
_IN_CATEGORIES: Final = {
    "all": (
        "Pod", "ReplicationController", "Service", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job",
        "CronJob", "HorizontalPodAutoscaler",
    ),
    "api-extensions": (
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "APIService", "CustomResourceDefinition",
    ),
}  # fmt: skip
_VERSIONS: Final = {kind.group: kind.version for kind in KINDS.values() if kind.is_served}
_REVIEWS: Final = {
    "authentication.k8s.io": (("selfsubjectreviews", "SelfSubjectReview"), ("tokenreviews", "TokenReview")),
    "authorization.k8s.io": (
        ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        ("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
        ("subjectaccessreviews", "SubjectAccessReview"),
    ),
}
# Parts of objects, with the kind of what is sent there where it is not the object: (group, version, kind).
_PART_KINDS: Final = {
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "attach": ("", "", "PodAttachOptions"),
    "exec": ("", "", "PodExecOptions"),
    "portforward": ("", "", "PodPortForwardOptions"),
    "proxy": ("", "", "PodProxyOptions"),
}
_PARTS: Final = (
    "attach", "binding", "ephemeralcontainers", "eviction", "exec", "finalize", "log", "portforward", "proxy", "resize",
    "scale", "status",
)  # fmt: skip
_VERBS: Final = {"GET": ("get",), "POST": ("create",), "PUT": ("update",), "PATCH": ("patch",), "DELETE": ("delete",)}
Document = dict[str, Any]
Defined = Callable[[], Sequence[Definition]]  # asked when it matters


def nothing() -> Sequence[Definition]:
    """No kinds of its own."""
    return ()


def answer(request: Request, defined: Defined = nothing) -> Answer | None:
    """The document at a path of discovery; None at other paths. `defined`: the kinds that the cluster defines."""
    parts = request.path.strip("/").split("/")
    if parts[0] not in ("api", "apis") or len(parts) > (2 if parts[0] == "api" else 3):
        return None
    is_group = len(parts) == 2 and parts[0] == "apis"
    if parts[0] == "apis" and len(parts) > 1 and parts[1] not in GROUPS:
        return _of_custom_group(request, parts, defined())
    if not is_group and len(parts) > 1 and parts[-1] != version_in(parts[1] if parts[0] == "apis" else ""):
        raise RefusedError(NO_SUCH_RESOURCE)
    if request.method != "GET":
        raise RefusedError(METHOD_NOT_ALLOWED)
    accept = request.header("accept")
    if len(parts) == 1:
        return _root(request, accept, parts[0], defined() if parts[0] == "apis" else ())
    form = media.plain_form(_plain(accept))
    document = group_document(parts[1]) if is_group else resource_list(parts[1] if parts[0] == "apis" else "")
    return Answer(200, document, form.media_type)


def _of_custom_group(request: Request, parts: list[str], definitions: Sequence[Definition]) -> Answer:
    """The document of a group that the cluster defines, or of one of its versions."""
    of_group = [each for each in definitions if each.group == parts[1]]
    if not of_group:
        return page_not_found()
    if request.method != "GET":
        raise RefusedError(METHOD_NOT_ALLOWED)
    form = media.plain_form(_plain(request.header("accept")))
    if len(parts) == 2:
        document = {"kind": "APIGroup", "apiVersion": "v1", **custom_discovery.group_entry(parts[1], of_group)}
    else:
        found = custom_discovery.resource_list(f"{parts[1]}/{parts[2]}", of_group)
        if found is None:
            raise RefusedError(NO_SUCH_RESOURCE)
        document = found
    return Answer(200, document, form.media_type)


def _root(request: Request, accept: str, root: str, definitions: Sequence[Definition]) -> Answer:
    form = media.discovery_form(accept)
    if form.shape:
        document, tag = aggregated(root)
        if definitions:
            document, tag = with_groups(document, custom_discovery.aggregated(definitions))
        if request.header("if-none-match") == tag:
            return Answer(304, b"", "", (("etag", tag),))
        media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return Answer(200, document, media_type, (("etag", tag), ("vary", "Accept")))
    if root == "api":
        host = request.header("host")
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
        return Answer(
            200, {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}, form.media_type
        )
    groups = [group_entry(name) for name in GROUP_ORDER if name] + custom_discovery.group_entries(definitions)
    return Answer(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, form.media_type)


def version_in(group: str) -> str:
    """The one version in which a group is served: `v1`, mostly."""
    return _VERSIONS.get(group, "v1")


def group_version(group: str) -> str:
    """The same with the group, as `apiVersion` has it."""
    return f"{group}/{version_in(group)}" if group else version_in(group)


def group_entry(name: str) -> Document:
    version = {"groupVersion": group_version(name), "version": version_in(name)}
    return {"name": name, "versions": [version], "preferredVersion": version}


def group_document(name: str) -> Document:
    return {"kind": "APIGroup", "apiVersion": "v1", **group_entry(name)}


@lru_cache
def resource_list(group: str) -> Document:
    """The resources of a group as the older form lists them, parts of objects among them."""
    found: list[Document] = []
    for each in _resources(group):
        subresources = each.pop("subresources", [])
        kind = each.pop("responseKind")["kind"]
        name, singular = each.pop("resource"), each.pop("singularResource")
        namespaced = each.pop("scope") == "Namespaced"
        entry = {"name": name, "singularName": singular, "namespaced": namespaced, "kind": kind}
        found.append({**entry, **each})
        for part in subresources:
            of_kind = part["responseKind"]
            entry = {"name": f"{name}/{part['subresource']}", "singularName": "", "namespaced": namespaced}
            if of_kind["group"]:
                entry |= {"group": of_kind["group"], "version": of_kind["version"]}
            found.append({**entry, "kind": of_kind["kind"], "verbs": part["verbs"]})
    found.sort(key=lambda one: one["name"])
    version = group_version(group)
    head: Document = {"kind": "APIResourceList"}
    if group:
        head["apiVersion"] = "v1"  # the core group's list goes without
    return {**head, "groupVersion": version, "resources": found}


@lru_cache
def aggregated(root: str) -> tuple[bytes, str]:
    """The aggregated list as JSON, and its tag."""
    groups = [""] if root == "api" else [name for name in GROUP_ORDER if name]
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [{"version": version_in(name), "resources": _resources(name), "freshness": "Current"}],
        }
        for name in groups
    ]
    document = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    content = orjson.dumps(document)
    return content, f'"{hashlib.sha256(content).hexdigest().upper()}"'


def with_groups(document: bytes, groups: Sequence[Document]) -> tuple[bytes, str]:
    """The aggregated list with more groups, and its tag."""
    content = orjson.dumps({**(found := orjson.loads(document)), "items": [*found["items"], *groups]})
    return content, f'"{hashlib.sha256(content).hexdigest().upper()}"'


def _resources(group: str) -> list[Document]:
    found = [_resource(kind) for kind in KINDS.values() if kind.group == group and kind.is_served]
    if group == "":
        found.append(_simple("bindings", "Binding", "Namespaced"))
    if group == EVENTS_GROUP:
        found.append(_resource(KINDS["Event"]))
    found += [_simple(plural, kind, "Cluster") for plural, kind in _REVIEWS.get(group, ())]
    return sorted(found, key=lambda one: one["resource"])


def _simple(plural: str, kind: str, scope: str) -> Document:
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": scope,
        "singularResource": kind.lower(),
        "verbs": ["create"],
    }


def _resource(kind: Kind) -> Document:
    own = {"group": "", "version": "", "kind": kind.name}
    namespace = "x" if kind.namespaced else ""
    collection = Route(kind, kind.cls.api_version, namespace).methods()
    of_object = Route(kind, kind.cls.api_version, namespace, "x").methods()
    verbs = {verb for method in of_object for verb in _VERBS[method]} | {"list", "watch"}
    verbs |= {"create"} if "POST" in collection else set()
    verbs |= {"deletecollection"} if "DELETE" in collection else set()
    found: Document = {
        "resource": kind.cls.plural,
        "responseKind": own,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.name.lower(),
        "verbs": sorted(verbs),
    }
    if kind.name in _SHORT_NAMES:
        found["shortNames"] = _SHORT_NAMES[kind.name]
    categories = [category for category, names in _IN_CATEGORIES.items() if kind.name in names]
    if categories:
        found["categories"] = categories
    parts = []
    for part in _PARTS:
        methods = Route(kind, kind.cls.api_version, namespace, "x", part).methods()
        if methods:
            group, version, name = _PART_KINDS.get(part, ("", "", kind.name))
            verbs_of_part = sorted(verb for method in methods for verb in _VERBS[method])
            response = {"group": group, "version": version, "kind": name}
            parts.append({"subresource": part, "responseKind": response, "verbs": verbs_of_part})
    if parts:
        found["subresources"] = parts
    return found


def _plain(accept: str) -> str:
    """Clients ask every path of discovery for the aggregated form, which only the roots have."""
    parts = [part for part in accept.split(",") if "apidiscovery" not in part]
    return ",".join(parts)
