"""What is shown of one pod beside its manifest: whom it belongs to, what its kubelet sets up, what may hold it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kschedweb import views
from kschedweb.cluster.models import Pod
from kschedweb.cluster.related import Related
from scheduler_core.admission.qos import qos_class
from scheduler_core.api import manifests
from scheduler_core.api.node import Node as ApiNode
from scheduler_core.api.pod import Pod as ApiPod
from scheduler_core.controllers.kubelet.cgroups import pod_cgroup
from scheduler_core.controllers.kubelet.oom import oom_score_adj
from scheduler_core.explain.known_limits import known_limits

LONGEST_CHAIN = 4


def pod_owners(pod: Pod, related: Related) -> Sequence[views.PodOwner]:
    """The pod's controller, the controller of that, and so on; one that is not there ends the chain."""
    found: list[views.PodOwner] = []
    manifest: Any = pod.manifest
    while manifest is not None and len(found) < LONGEST_CHAIN:
        references = manifest["metadata"].get("ownerReferences") or ()
        owner = next((each for each in references if each.get("controller")), None)
        if owner is None:
            break
        found.append(views.PodOwner(kind=owner["kind"], name=owner["name"]))
        manifest = related.named(owner["kind"], pod.namespace, [owner["name"]]).get(owner["name"])
    return found


def pod_quality(pod: Pod) -> str:
    """The pod's quality of service."""
    return str(pod.manifest.get("status", {}).get("qosClass") or qos_class(_typed(pod).spec))


def pod_on_node(pod: Pod, related: Related) -> views.PodOnNode | None:
    """What the kubelet sets up for the pod; None while it has no node, or one whose memory is not known."""
    if not pod.node_name:
        return None
    stored = related.node(pod.node_name)
    node = None if stored is None else manifests.decode(stored)
    memory = (node.status.capacity or {}).get("memory") if isinstance(node, ApiNode) else None
    if memory is None or memory.value() <= 0:
        return None
    typed = _typed(pod)
    group = pod_cgroup(typed)
    containers = (*(typed.spec.init_containers or ()), *typed.spec.containers)
    return views.PodOnNode(
        cpu_shares=group.cpu_shares,
        cpu_quota_us=group.cpu_quota_us,
        memory_limit_bytes=group.memory_limit_bytes,
        oom_score_adj={one.name: oom_score_adj(typed, one, memory.value()) for one in containers},
    )


def pod_known_limits(pod: Pod) -> Sequence[views.KnownLimit]:
    """The faults of kube-scheduler that may be why the pod is pending."""
    return cast(Sequence[views.KnownLimit], known_limits(_typed(pod)))


def _typed(pod: Pod) -> ApiPod:
    found = manifests.decode(pod.manifest)
    assert isinstance(found, ApiPod)
    return found
