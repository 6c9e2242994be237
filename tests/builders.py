"""Fluent builders of pods and nodes: a test says only what matters to it.

`make_pod("a").req(cpu="500m", memory="1Gi").on("n1").label(app="x").priority(5).build()` is a typed Pod,
`.manifest()` the dict it is read from. Label and resource names that are no Python names go in as dicts.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Self, cast

from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod

Dict = dict[str, Any]


class Builder:
    def __init__(self, kind: str, name: str, *, namespace: str | None, uid: str | None) -> None:
        key = f"{namespace}/{name}" if namespace is not None else name
        metadata: Dict = {"name": name, "uid": f"{kind.lower()}-{key}" if uid is None else uid}
        if namespace is not None:
            metadata["namespace"] = namespace
        self._manifest: Dict = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {}, "status": {}}

    @property
    def _spec(self) -> Dict:
        return cast(Dict, self._manifest["spec"])

    @property
    def _status(self) -> Dict:
        return cast(Dict, self._manifest["status"])

    def manifest(self) -> Dict:
        return copy.deepcopy(self._manifest)

    def label(self, labels: dict[str, str] | None = None, /, **more: str) -> Self:
        self._manifest["metadata"].setdefault("labels", {}).update({**(labels or {}), **more})
        return self

    def annotation(self, annotations: dict[str, str]) -> Self:
        self._manifest["metadata"].setdefault("annotations", {}).update(annotations)
        return self

    def created(self, time: str) -> Self:
        self._manifest["metadata"]["creationTimestamp"] = time
        return self

    def deleted(self, time: str = "2030-01-01T00:00:00Z") -> Self:
        """Being deleted since that time."""
        self._manifest["metadata"]["deletionTimestamp"] = time
        return self

    def owner(self, kind: str, name: str, *, uid: str = "", controller: bool = True, api: str = "apps/v1") -> Self:
        self._manifest["metadata"].setdefault("ownerReferences", []).append(
            {"apiVersion": api, "kind": kind, "name": name, "uid": uid or f"uid-{name}", "controller": controller}
        )
        return self

    def spec(self, **fields: Any) -> Self:
        """Any field of the spec, by its manifest name."""
        self._spec.update(fields)
        return self

    def status(self, **fields: Any) -> Self:
        """Any field of the status, by its manifest name."""
        self._status.update(fields)
        return self


class PodBuilder(Builder):
    def __init__(self, name: str, *, namespace: str, uid: str | None) -> None:
        super().__init__("Pod", name, namespace=namespace, uid=uid)
        self._spec["schedulerName"] = "default-scheduler"
        self._status["phase"] = "Pending"

    def build(self) -> Pod:
        manifest = self.manifest()
        manifest["spec"].setdefault("containers", [{"name": "c0"}])
        return cast(Pod, manifests.decode(manifest))

    def container(
        self,
        requests: dict[str, str] | None = None,
        *,
        limits: dict[str, str] | None = None,
        name: str | None = None,
        image: str = "",
        ports: list[Dict] | None = None,
    ) -> Self:
        """One more container."""
        self._add_container("containers", "c", requests, limits, name, image, ports)
        return self

    def init_container(
        self,
        requests: dict[str, str] | None = None,
        *,
        sidecar: bool = False,
        limits: dict[str, str] | None = None,
        name: str | None = None,
        image: str = "",
        ports: list[Dict] | None = None,
    ) -> Self:
        """One more init container; a sidecar is restarted always."""
        container = self._add_container("initContainers", "init", requests, limits, name, image, ports)
        if sidecar:
            container["restartPolicy"] = "Always"
        return self

    def req(self, requests: dict[str, str] | None = None, /, **more: str) -> Self:
        """Requests of the first container, which is made when there is none; `ephemeral_storage` has its dash."""
        resources = self._first_container().setdefault("resources", {})
        resources.setdefault("requests", {}).update(_resources(requests, more))
        return self

    def limit(self, limits: dict[str, str] | None = None, /, **more: str) -> Self:
        resources = self._first_container().setdefault("resources", {})
        resources.setdefault("limits", {}).update(_resources(limits, more))
        return self

    def image(self, image: str) -> Self:
        self._first_container()["image"] = image
        return self

    def host_port(self, port: int, *, protocol: str = "TCP", ip: str = "") -> Self:
        entry: Dict = {"containerPort": port, "hostPort": port, "protocol": protocol}
        if ip:
            entry["hostIP"] = ip
        self._first_container().setdefault("ports", []).append(entry)
        return self

    def overhead(self, overhead: dict[str, str] | None = None, /, **more: str) -> Self:
        return self.spec(overhead=_resources(overhead, more))

    def pod_level(self, requests: dict[str, str] | None = None, /, **more: str) -> Self:
        return self.spec(resources={"requests": _resources(requests, more)})

    def on(self, node_name: str) -> Self:
        """Bound to that node."""
        return self.spec(nodeName=node_name)

    def nominated(self, node_name: str) -> Self:
        return self.status(nominatedNodeName=node_name)

    def phase(self, phase: str) -> Self:
        return self.status(phase=phase)

    def started(self, time: str) -> Self:
        return self.status(startTime=time)

    def condition(self, type_: str, status: str, *, reason: str = "", message: str = "") -> Self:
        entry = {"type": type_, "status": status, "reason": reason, "message": message}
        self._status.setdefault("conditions", []).append(entry)
        return self

    def scheduler(self, name: str) -> Self:
        return self.spec(schedulerName=name)

    def priority(self, priority: int) -> Self:
        return self.spec(priority=priority)

    def never_preempts(self) -> Self:
        return self.spec(preemptionPolicy="Never")

    def gate(self, *names: str) -> Self:
        self._spec.setdefault("schedulingGates", []).extend({"name": name} for name in names)
        return self

    def node_selector(self, pairs: dict[str, str] | None = None, /, **more: str) -> Self:
        self._spec.setdefault("nodeSelector", {}).update({**(pairs or {}), **more})
        return self

    def toleration(
        self, key: str = "", *, operator: str = "", value: str = "", effect: str = "", seconds: int | None = None
    ) -> Self:
        entry: Dict = {"key": key, "operator": operator, "value": value, "effect": effect, "tolerationSeconds": seconds}
        shown = {name: item for name, item in entry.items() if item not in ("", None)}
        self._spec.setdefault("tolerations", []).append(shown)
        return self

    def required_node_affinity(self, *terms: Dict) -> Self:
        """Each term as in a manifest: {"matchExpressions": [...], "matchFields": [...]}."""
        affinity = self._affinity("nodeAffinity")
        required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": []})
        required["nodeSelectorTerms"].extend(terms)
        return self

    def preferred_node_affinity(self, weight: int, term: Dict) -> Self:
        affinity = self._affinity("nodeAffinity")
        preferred = affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
        preferred.append({"weight": weight, "preference": term})
        return self

    def pod_affinity(self, topology_key: str, labels: dict[str, str], *, anti: bool = False, weight: int = 0) -> Self:
        """A term on pods with these labels: required, or preferred when it has a weight."""
        affinity = self._affinity("podAntiAffinity" if anti else "podAffinity")
        term: Dict = {"topologyKey": topology_key, "labelSelector": {"matchLabels": labels}}
        if weight:
            preferred = affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
            preferred.append({"weight": weight, "podAffinityTerm": term})
        else:
            affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
        return self

    def spread(
        self,
        topology_key: str,
        labels: dict[str, str] | None,
        *,
        max_skew: int = 1,
        when: str = "DoNotSchedule",
        **fields: Any,
    ) -> Self:
        """A topology spread constraint; further fields by their manifest names."""
        entry: Dict = {"topologyKey": topology_key, "maxSkew": max_skew, "whenUnsatisfiable": when, **fields}
        if labels is not None:
            entry["labelSelector"] = {"matchLabels": labels}
        self._spec.setdefault("topologySpreadConstraints", []).append(entry)
        return self

    def claim_volume(self, claim: str, *, name: str | None = None) -> Self:
        volume = {"name": name or claim, "persistentVolumeClaim": {"claimName": claim}}
        self._spec.setdefault("volumes", []).append(volume)
        return self

    def _affinity(self, part: str) -> Dict:
        return cast(Dict, self._spec.setdefault("affinity", {}).setdefault(part, {}))

    def _first_container(self) -> Dict:
        if not self._spec.get("containers"):
            self.container()
        return cast(Dict, self._spec["containers"][0])

    def _add_container(
        self,
        field: str,
        prefix: str,
        requests: dict[str, str] | None,
        limits: dict[str, str] | None,
        name: str | None,
        image: str,
        ports: list[Dict] | None,
    ) -> Dict:
        containers = self._spec.setdefault(field, [])
        entry: Dict = {"name": name or f"{prefix}{len(containers)}"}
        if image:
            entry["image"] = image
        if ports:
            entry["ports"] = ports
        if requests is not None or limits is not None:
            given = {"requests": requests, "limits": limits}
            entry["resources"] = {part: dict(values) for part, values in given.items() if values is not None}
        containers.append(entry)
        return entry


class NodeBuilder(Builder):
    def __init__(self, name: str, *, uid: str | None) -> None:
        super().__init__("Node", name, namespace=None, uid=uid)
        self.label({"kubernetes.io/hostname": name})
        self.capacity(cpu="8", memory="16Gi", pods="110")

    def build(self) -> Node:
        return cast(Node, manifests.decode(self.manifest()))

    def capacity(self, resources: dict[str, str] | None = None, /, **more: str) -> Self:
        """Capacity and allocatable alike; other resources stay as they are."""
        for part in ("capacity", "allocatable"):
            self._status.setdefault(part, {}).update(_resources(resources, more))
        return self

    def without(self, resource: str) -> Self:
        """The node does not report that resource at all."""
        for part in ("capacity", "allocatable"):
            self._status[part].pop(resource, None)
        return self

    def zone(self, zone: str, *, region: str | None = None) -> Self:
        self.label({"topology.kubernetes.io/zone": zone})
        return self if region is None else self.label({"topology.kubernetes.io/region": region})

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        entry = {"key": key, "effect": effect} | ({"value": value} if value else {})
        self._spec.setdefault("taints", []).append(entry)
        return self

    def unschedulable(self) -> Self:
        return self.spec(unschedulable=True)

    def images(self, images: dict[str, int]) -> Self:
        """Image names with their sizes in bytes."""
        self._status.setdefault("images", []).extend(
            {"names": [name], "sizeBytes": size} for name, size in images.items()
        )
        return self

    def condition(self, type_: str, status: str) -> Self:
        self._status.setdefault("conditions", []).append({"type": type_, "status": status})
        return self


def make_pod(name: str = "pod", *, namespace: str = "default", uid: str | None = None) -> PodBuilder:
    """A pending pod of the default scheduler with one empty container; its uid follows from its name."""
    return PodBuilder(name, namespace=namespace, uid=uid)


def make_node(name: str = "node", *, uid: str | None = None) -> NodeBuilder:
    """A node of 8 cpu, 16Gi and 110 pods with its hostname label; its uid follows from its name."""
    return NodeBuilder(name, uid=uid)


def make(kind: str, name: str, *, namespace: str = "default", **fields: Any) -> Any:
    """Any other object, typed, from its top-level manifest fields."""
    return manifests.decode(make_manifest(kind, name, namespace=namespace, **fields))


def make_manifest(kind: str, name: str, *, namespace: str = "default", **fields: Any) -> Dict:
    """The manifest of any object that is stored; `metadata` is merged."""
    metadata = {"uid": f"{kind.lower()}-{name}", **fields.pop("metadata", {})}
    return written(kind, name, namespace=namespace, metadata=metadata, **fields)


def written(kind: str, name: str, *, namespace: str = "default", metadata: Dict | None = None, **fields: Any) -> Dict:
    """The manifest of any object as a user writes it, without a uid; `metadata` is merged."""
    cls = manifests.CLASSES[kind]
    own = {"name": name, "namespace": namespace} if cls.namespaced else {"name": name}
    return {"apiVersion": cls.api_version, "kind": kind, "metadata": {**own, **(metadata or {})}, **fields}


def scheduler_config(**fields: Any) -> str:
    """A KubeSchedulerConfiguration, as JSON."""
    return json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **fields})


def _resources(given: dict[str, str] | None, more: dict[str, str]) -> dict[str, str]:
    return {**(given or {}), **{name.replace("_", "-"): value for name, value in more.items()}}
