"""Static pods: a kubelet runs them of its own accord, and shows each as a mirror pod in the API.

A node's static pods are in its annotation `kschedweb.io/static-pods`: manifests of pods, YAML documents or one in
JSON. The mirror is called `<name>-<node>`. A mirror that is deleted comes back at once, its containers run on; one
whose manifest changed is replaced; one whose manifest is gone is deleted.

Source: kubernetes v1.34.1, pkg/kubelet/config/common.go, pkg/kubelet/pod/mirror_client.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import md5
from typing import Any, Final

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Request
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.controllers.kubelet.critical import MIRROR, SOURCE
from scheduler_core.errors import YamlError

ANNOTATION: Final = "kschedweb.io/static-pods"
MARK: Final = "kschedweb.io/static-pod"  # of mirrors that were made here: the name in the manifest
HASH: Final = "kubernetes.io/config.hash"
SEEN: Final = "kubernetes.io/config.seen"
INVALID: Final = "InvalidStaticPod"
_FROM_FILE: Final = "file"
_TOLERATES_ALL: Final = {"operator": "Exists", "effect": "NoExecute"}
_BOUNDS: Final = YamlBounds(depth=100, values=20_000, alias_values=1_000)

Manifest = dict[str, Any]


class _Mirror(msgspec.Struct, frozen=True, gc=False):
    """A mirror as it is stored."""

    node: str
    uid: str
    hash: str
    is_terminating: bool


class StaticPods:
    """The static pods of all nodes whose kubelets are heard. Mirrors that others made are left alone."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events
        self._texts: dict[str, str] = {}  # the annotation, by node
        self._wanted: dict[str, dict[ObjectKey, Manifest]] = {}  # by node
        self._mirrors: dict[ObjectKey, _Mirror] = {}
        self._keys: dict[str, dict[ObjectKey, None]] = {}  # of mirrors, by node
        self._asked: set[ObjectKey] = set()  # mirrors that were asked for and not seen yet
        self._running_since: dict[tuple[str, str], int] = {}  # by node and hash: its containers outlive the mirror
        self._changed: dict[str, None] = {}  # nodes

    def put_node(self, node: Node, now: int) -> Sequence[Request]:
        """Take over a node whose kubelet is heard; return the event that tells of an annotation it cannot read."""
        text = node.annotations.get(ANNOTATION)
        if text is None and node.name not in self._texts:
            return ()
        if text == self._texts.get(node.name):
            return ()
        self._texts[node.name] = text or ""
        try:
            self._wanted[node.name] = _manifests(text or "", node, now)
        except ValueError as error:
            return self._events.record(node, INVALID, str(error), now=now, kind=WARNING, host=node.name)
        self._changed[node.name] = None
        return ()

    def drop_node(self, name: str, *, forgets: bool = False) -> None:
        """Do nothing for a node whose kubelet is not heard; `forgets`: its containers are gone."""
        if self._texts.pop(name, None) is not None:
            self._wanted.pop(name, None)
        if forgets and self._running_since:
            self._running_since = {key: since for key, since in self._running_since.items() if key[0] != name}

    def put_pod(self, pod: Pod) -> None:
        """Take over a pod of a node."""
        annotations = pod.annotations
        if MARK not in annotations or MIRROR not in annotations:
            return
        node_name, key, digest = pod.spec.node_name, ObjectKey(Pod.kind, pod.namespace, pod.name), annotations[MIRROR]
        started = pod.status.start_time
        if started is not None and pod.status.phase == "Running":
            self._running_since.setdefault((node_name, digest), microseconds(started))
        self._asked.discard(key)
        mirror = _Mirror(node_name, pod.uid, digest, pod.is_terminating)
        if self._mirrors.get(key) != mirror:
            self._mirrors[key] = mirror
            self._keys.setdefault(node_name, {})[key] = None
            self._changed[node_name] = None

    def deleted(self, namespace: str, name: str) -> None:
        """Note that a pod is gone."""
        mirror = self._mirrors.pop(ObjectKey(Pod.kind, namespace, name), None) if self._mirrors else None
        if mirror is not None:
            self._keys[mirror.node].pop(ObjectKey(Pod.kind, namespace, name), None)
            self._changed[mirror.node] = None

    def running_since(self, pod: Pod) -> int | None:
        """Return since when the containers of a new mirror run already; microseconds."""
        return self._running_since.get((pod.spec.node_name, pod.annotations.get(MIRROR, "")))

    def step(self) -> list[Request]:
        """Return what makes the mirrors follow their manifests."""
        if not self._changed:
            return []
        changed, self._changed = self._changed, {}
        return [request for name in changed for request in self._sync(name)]

    def _sync(self, node_name: str) -> Iterator[Request]:
        wanted = self._wanted.get(node_name)
        if wanted is None:
            return
        keys = self._keys.get(node_name, {})
        for key, manifest in wanted.items():
            if key not in keys:
                if key not in self._asked:
                    self._asked.add(key)
                    yield Create(manifest)
                continue
            mirror = self._mirrors[key]
            if mirror.is_terminating or mirror.hash != manifest["metadata"]["annotations"][MIRROR]:
                yield Delete(key, 0, uid=mirror.uid)
        for key in keys:
            mirror = self._mirrors[key]
            if key not in wanted and not mirror.is_terminating:
                self._running_since.pop((node_name, mirror.hash), None)
                yield Delete(key, uid=mirror.uid)


def _manifests(text: str, node: Node, now: int) -> dict[ObjectKey, Manifest]:
    """The mirrors that the annotation asks for; ValueError where it cannot be read."""
    found: dict[ObjectKey, Manifest] = {}
    if not text.strip():
        return found
    try:
        documents = [document for _, document in read_documents(text.encode(), _BOUNDS) if document is not None]
    except YamlError as error:
        raise ValueError(f"{ANNOTATION}: {error}") from None
    for number, document in enumerate(documents):
        where = f"{ANNOTATION}[{number}]"
        if not isinstance(document, dict) or document.get("kind") != "Pod":
            raise ValueError(f"{where}: kind: expected Pod")
        metadata, spec = document.get("metadata"), document.get("spec")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise ValueError(f"{where}: metadata.name: is required")
        if not isinstance(spec, dict):
            raise ValueError(f"{where}: spec: is required")
        mirror = _mirror(document, metadata, spec, node, now)
        key = ObjectKey(Pod.kind, mirror["metadata"]["namespace"], mirror["metadata"]["name"])
        if key in found:
            raise ValueError(f"{where}: metadata.name: there are two static pods {metadata['name']}")
        found[key] = mirror
    return found


def _mirror(document: Manifest, metadata: Manifest, spec: Manifest, node: Node, now: int) -> Manifest:
    content = msgspec.json.encode({"metadata": metadata, "spec": spec, "host": node.name}, order="sorted")
    digest = md5(content, usedforsecurity=False).hexdigest()
    annotations = _texts(metadata.get("annotations"))
    marks = {MARK: metadata["name"], HASH: digest, MIRROR: digest, SEEN: time_text(now), SOURCE: _FROM_FILE}
    tolerations = spec.get("tolerations")
    listed = [*tolerations] if isinstance(tolerations, list) else []
    if _TOLERATES_ALL not in listed:
        listed.append(_TOLERATES_ALL)
    owner = {"apiVersion": "v1", "kind": Node.kind, "name": node.name, "uid": node.uid, "controller": True}
    return {
        **document,
        "apiVersion": "v1",
        "metadata": {
            **{name: value for name, value in metadata.items() if name in ("labels",)},
            "name": f"{metadata['name']}-{node.name.lower()}",
            "namespace": metadata.get("namespace") or "default",
            "annotations": {**annotations, **marks},
            "ownerReferences": [owner],
        },
        "spec": {**spec, "nodeName": node.name, "tolerations": listed},
    }


def _texts(value: object) -> Mapping[str, str]:
    return value if isinstance(value, dict) else {}
