"""What kubectl shows of an object of each kind, cell by cell, in the order of the columns of `tables`.

Longer than 400 lines because it is one short function for each kind, and one table of them.

Source: kubernetes v1.34.1, pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from scheduler_core.api.quantity import parse
from scheduler_core.apiserver.scale import selector_text

Manifest = Mapping[str, Any]
Cells = list[Any]
_NONE: Final = "<none>"
_UNSET: Final = "<unset>"
_UNKNOWN: Final = "<unknown>"
_SHOWN: Final = 3  # addresses in a cell
_ROLE_LABEL: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"
_IS_DEFAULT: Final = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MODES: Final = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def cells(manifest: Manifest, now: int) -> Cells:
    """The cells of an object's row; ages are counted to `now`, in microseconds."""
    return _CELLS.get(manifest["kind"], _created)(manifest, now)


def age(text: str | None, now: int) -> str:
    """The time since a moment as kubectl writes it: `5s`, `2m3s`, `3d4h`; unknown without one."""
    if not text:
        return _UNKNOWN
    return duration(int(now / 1_000_000 - datetime.fromisoformat(text).timestamp()))


def duration(seconds: int) -> str:
    """A duration in at most two units, the second only where it matters."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days, years = seconds // 60, seconds // 3600, seconds // 86400, seconds // 31536000
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _pair(years, "y", days % 365, "d")
    return f"{years}y"


def _pair(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def _part(manifest: Manifest, name: str) -> Manifest:
    return manifest.get(name) or {}


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def _age(manifest: Manifest, now: int) -> str:
    return age(manifest["metadata"].get("creationTimestamp"), now)


def _is_going(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


def _pod(pod: Manifest, now: int) -> Cells:
    spec, status = pod["spec"], _part(pod, "status")
    ready, total, reason, restarts = _pod_state(pod, now)
    addresses = status.get("podIPs") or [{}]
    gates, met = spec.get("readinessGates") or (), 0
    conditions: Sequence[Manifest] = status.get("conditions") or ()
    for gate in gates:
        met += any(one["type"] == gate["conditionType"] and one["status"] == "True" for one in conditions)
    return [
        _name(pod), f"{ready}/{total}", reason, restarts, _age(pod, now), addresses[0].get("ip") or _NONE,
        spec.get("nodeName") or _NONE, status.get("nominatedNodeName") or _NONE,
        f"{met}/{len(gates)}" if gates else _NONE,
    ]  # fmt: skip


def _pod_state(pod: Manifest, now: int) -> tuple[int, int, str, str]:
    """(containers that are ready, containers, the word for the pod's state, restarts as text)."""
    spec, status = pod["spec"], _part(pod, "status")
    conditions: Sequence[Manifest] = status.get("conditions") or ()
    reason = status.get("reason") or status.get("phase") or ""
    if any(one["type"] == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in conditions):
        reason = "SchedulingGated"
    inits = {one["name"]: one for one in spec.get("initContainers") or ()}
    sidecars = {name for name, one in inits.items() if one.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    init_word, ready, counted = _init_state(status.get("initContainerStatuses") or (), inits, sidecars)
    reason = init_word or reason
    if not init_word or any(one["type"] == "Initialized" and one["status"] == "True" for one in conditions):
        counted = [one for one in counted if one["name"] in sidecars]
        runs = False
        for container in reversed(status.get("containerStatuses") or ()):
            counted.append(container)
            state = container.get("state") or {}
            word = _state_word(state)
            if word:
                reason = word
            elif container.get("ready") and "running" in state:
                runs = True
                ready += 1
        if reason == "Completed" and runs:
            is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
            reason = "Running" if is_ready else "NotReady"
    if _is_going(pod):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    return ready, total, reason, _restarts(counted, now)


def _init_state(
    statuses: Sequence[Manifest], inits: Mapping[str, Manifest], sidecars: set[str]
) -> tuple[str, int, list[Manifest]]:
    """(the word while containers are being initialized, sidecars that are ready, statuses looked at)."""
    ready, counted = 0, []
    for index, container in enumerate(statuses):
        counted.append(container)
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if container["name"] in sidecars and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_end_word(ended)}", ready, counted
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}", ready, counted
        return f"Init:{index}/{len(inits)}", ready, counted
    return "", ready, counted


def _state_word(state: Manifest) -> str:
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason"):
        return str(waiting["reason"])
    return "" if ended is None else _end_word(ended)


def _end_word(ended: Manifest) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _restarts(statuses: Sequence[Manifest], now: int) -> str:
    count = sum(one.get("restartCount") or 0 for one in statuses)
    ends = [((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in statuses]
    last = max(filter(None, ends), default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _node(node: Manifest, now: int) -> Cells:
    status = _part(node, "status")
    info = _part(status, "nodeInfo")
    ready = next((one["status"] for one in status.get("conditions") or () if one["type"] == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if _part(node, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)} - {""}
    roles |= {labels[_ROLE]} if labels.get(_ROLE) else set()
    addresses = {one["type"]: one["address"] for one in reversed(status.get("addresses") or ())}
    return [
        _name(node), ",".join(words), ",".join(sorted(roles)) or _NONE, _age(node, now),
        info.get("kubeletVersion", ""), addresses.get("InternalIP", _NONE), addresses.get("ExternalIP", _NONE),
        info.get("osImage") or _UNKNOWN, info.get("kernelVersion") or _UNKNOWN,
        info.get("containerRuntimeVersion") or _UNKNOWN,
    ]  # fmt: skip


def _namespace(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), _part(manifest, "status").get("phase", ""), _age(manifest, now)]


def _persistent_volume(volume: Manifest, now: int) -> Cells:
    spec, status = volume["spec"], _part(volume, "status")
    claim = spec.get("claimRef")
    phase = "Terminating" if _is_going(volume) else status.get("phase", "")
    return [
        _name(volume), (spec.get("capacity") or {}).get("storage", "0"), _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""), phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "", _class(volume),
        spec.get("volumeAttributesClassName", _UNSET), status.get("reason", ""), _age(volume, now),
        spec.get("volumeMode", _UNSET),
    ]  # fmt: skip


def _persistent_volume_claim(claim: Manifest, now: int) -> Cells:
    spec, status = claim["spec"], _part(claim, "status")
    bound = bool(spec.get("volumeName"))
    return [
        _name(claim), "Terminating" if _is_going(claim) else status.get("phase", ""), spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "", _class(claim),
        spec.get("volumeAttributesClassName", _UNSET), _age(claim, now), spec.get("volumeMode", _UNSET),
    ]  # fmt: skip


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for mode, short in _MODES if mode in (modes or ()))


def _class(manifest: Manifest) -> str:
    annotations = manifest["metadata"].get("annotations") or {}
    return str(annotations.get(_BETA_CLASS) or manifest["spec"].get("storageClassName") or "")


def _storage_class(manifest: Manifest, now: int) -> Cells:
    annotations = manifest["metadata"].get("annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in _IS_DEFAULT)
    return [
        _name(manifest) + (" (default)" if is_default else ""), manifest.get("provisioner", ""),
        manifest.get("reclaimPolicy", "Delete"), manifest.get("volumeBindingMode", "Immediate"),
        manifest.get("allowVolumeExpansion", False), _age(manifest, now),
    ]  # fmt: skip


def _csi_node(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), len(_part(manifest, "spec").get("drivers") or ()), _age(manifest, now)]


def _csi_driver(manifest: Manifest, now: int) -> Cells:
    spec = _part(manifest, "spec")
    requests = spec.get("tokenRequests")
    return [
        _name(manifest), spec.get("attachRequired", True), spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(one.get("audience", "") for one in requests) if requests is not None else _UNSET,
        spec.get("requiresRepublish", False), ",".join(spec.get("volumeLifecycleModes") or ()) or _NONE,
        _age(manifest, now),
    ]  # fmt: skip


def _volume_attachment(manifest: Manifest, now: int) -> Cells:
    spec = manifest["spec"]
    return [
        _name(manifest), spec["attacher"], _part(spec, "source").get("persistentVolumeName", ""), spec["nodeName"],
        bool(_part(manifest, "status").get("attached")), _age(manifest, now),
    ]  # fmt: skip


def _budget(manifest: Manifest, now: int) -> Cells:
    spec, status = _part(manifest, "spec"), _part(manifest, "status")
    return [
        _name(manifest), str(spec.get("minAvailable", "N/A")), str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed") or 0, _age(manifest, now),
    ]  # fmt: skip


def _priority_class(manifest: Manifest, now: int) -> Cells:
    return [
        _name(manifest), manifest.get("value", 0), manifest.get("globalDefault", False), _age(manifest, now),
        manifest.get("preemptionPolicy", ""),
    ]  # fmt: skip


def _runtime_class(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), manifest.get("handler", ""), _age(manifest, now)]


def _created(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), manifest["metadata"].get("creationTimestamp")]


def _aged(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), _age(manifest, now)]


def _quota(manifest: Manifest, now: int) -> Cells:
    status = _part(manifest, "status")
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(hard):
        texts[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{parse(hard[name])}")
    return [_name(manifest), ", ".join(texts[False]), ", ".join(texts[True]), _age(manifest, now)]


def _service(service: Manifest, now: int) -> Cells:
    spec = service["spec"]
    addresses = spec.get("clusterIPs") or [_NONE]
    ports = ",".join(map(_port, spec.get("ports") or ()))
    return [
        _name(service), spec.get("type", ""), addresses[0], _external(service), ports or _NONE, _age(service, now),
        _pairs(spec.get("selector")),
    ]  # fmt: skip


def _port(port: Manifest) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', '')}"


def _external(service: Manifest) -> str:
    spec, kind = service["spec"], service["spec"].get("type")
    external = list(spec.get("externalIPs") or ())
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) or _NONE
    if kind == "LoadBalancer":
        ingress = _part(_part(service, "status"), "loadBalancer").get("ingress") or ()
        found = [one.get("ip") or one.get("hostname") or "" for one in ingress]
        return ",".join([*filter(None, found), *external]) or "<pending>"
    return str(spec.get("externalName", "")) if kind == "ExternalName" else _UNKNOWN


def _pairs(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _containers(spec: Manifest) -> Cells:
    containers = (spec.get("template") or {}).get("spec", {}).get("containers") or ()
    return [",".join(one["name"] for one in containers), ",".join(one.get("image", "") for one in containers)]


def _selector(selector: Manifest | None) -> str:
    return (selector_text(selector) if selector is not None else "") or _NONE


def _counted(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], _part(manifest, "status")
    return [
        _name(manifest), spec.get("replicas") or 0, status.get("replicas") or 0, status.get("readyReplicas") or 0,
        _age(manifest, now), *_containers(spec),
    ]  # fmt: skip


def _replica_set(manifest: Manifest, now: int) -> Cells:
    return [*_counted(manifest, now), _selector(manifest["spec"].get("selector"))]


def _replication_controller(manifest: Manifest, now: int) -> Cells:
    return [*_counted(manifest, now), _pairs(manifest["spec"].get("selector"))]


def _deployment(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], _part(manifest, "status")
    return [
        _name(manifest), f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        status.get("updatedReplicas") or 0, status.get("availableReplicas") or 0, _age(manifest, now),
        *_containers(spec), selector_text(spec.get("selector") or {}),
    ]  # fmt: skip


def _stateful_set(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], _part(manifest, "status")
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [_name(manifest), ready, _age(manifest, now), *_containers(spec)]


def _daemon_set(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], _part(manifest, "status")
    counts = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
    )  # fmt: skip
    return [
        _name(manifest), *(status.get(name) or 0 for name in counts),
        _pairs(spec["template"]["spec"].get("nodeSelector")), _age(manifest, now), *_containers(spec),
        _selector(spec.get("selector")),
    ]  # fmt: skip


def _job(job: Manifest, now: int) -> Cells:
    spec, status = job["spec"], _part(job, "status")
    done, parallelism = status.get("succeeded") or 0, spec.get("parallelism") or 0
    completions = f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    started, ended, took = status.get("startTime"), status.get("completionTime"), ""
    if started:
        until = int(datetime.fromisoformat(ended).timestamp() * 1_000_000) if ended else now
        took = age(started, until)
    return [
        _name(job), _job_word(job), completions, took, _age(job, now), *_containers(spec),
        _selector(spec.get("selector")),
    ]  # fmt: skip


def _job_word(job: Manifest) -> str:
    conditions = _part(job, "status").get("conditions") or ()
    true = {one["type"] for one in conditions if one["status"] == "True"}
    for condition in ("Complete", "Failed"):
        if condition in true:
            return condition
    if _is_going(job):
        return "Terminating"
    return next((one for one in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if one in true), "Running")


def _cron_job(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], _part(manifest, "status")
    last, template = status.get("lastScheduleTime"), spec["jobTemplate"]["spec"]
    suspend = spec.get("suspend")
    return [
        _name(manifest), spec["schedule"], spec.get("timeZone", _NONE),
        _UNSET if suspend is None else "True" if suspend else "False",
        len(status.get("active") or ()), age(last, now) if last else _NONE, _age(manifest, now),
        *_containers(template), _selector(template.get("selector")),
    ]  # fmt: skip


def _config_map(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), len(_part(manifest, "data")) + len(_part(manifest, "binaryData")), _age(manifest, now)]


def _secret(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), manifest.get("type", ""), len(_part(manifest, "data")), _age(manifest, now)]


def _service_account(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), len(manifest.get("secrets") or ()), _age(manifest, now)]


def _endpoints(manifest: Manifest, now: int) -> Cells:
    shown: list[str] = []
    for subset in manifest.get("subsets") or ():
        addresses = [f"[{one['ip']}]" if ":" in one["ip"] else one["ip"] for one in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            shown += [one["ip"] for one in subset.get("addresses") or ()]
        for port in ports or ():
            shown += [f"{address}:{port['port']}" for address in addresses]
    if not manifest.get("subsets"):
        return [_name(manifest), _NONE, _age(manifest, now)]
    return [_name(manifest), _first_of(shown), _age(manifest, now)]


def _endpoint_slice(manifest: Manifest, now: int) -> Cells:
    ports = [str(one.get("port", one.get("name", "*"))) for one in manifest.get("ports") or ()]
    addresses = [text for one in manifest.get("endpoints") or () for text in one.get("addresses") or ()]
    return [
        _name(manifest), manifest["addressType"], _first_of(ports) or _UNSET, _first_of(addresses) or _UNSET,
        _age(manifest, now),
    ]  # fmt: skip


def _first_of(texts: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    shown = ",".join(texts[:_SHOWN])
    return f"{shown} + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else shown


def _controller_revision(manifest: Manifest, now: int) -> Cells:
    owners = manifest["metadata"].get("ownerReferences") or ()
    owner = next((one for one in owners if one.get("controller")), None)
    shown = _NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind']}{'.' if group else ''}{group}/".lower() + owner["name"]
    return [_name(manifest), shown, manifest.get("revision") or 0, _age(manifest, now)]


def _claim(claim: Manifest, now: int) -> Cells:
    status, words = _part(claim, "status"), ["deleted"] if _is_going(claim) else []
    if "allocation" in status:
        words.append("allocated")
        if status.get("reservedFor"):
            words.append("reserved")
    elif not words:
        words.append("pending")
    return [_name(claim), ",".join(words), _age(claim, now)]


def _slice(manifest: Manifest, now: int) -> Cells:
    spec = manifest["spec"]
    return [_name(manifest), spec.get("nodeName", ""), spec["driver"], spec["pool"]["name"], _age(manifest, now)]


def _lease(manifest: Manifest, now: int) -> Cells:
    return [_name(manifest), _part(manifest, "spec").get("holderIdentity", ""), _age(manifest, now)]


def _event(event: Manifest, now: int) -> Cells:
    first = age(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = age(event.get("lastTimestamp"), now) if event.get("lastTimestamp") else first
    count, series = event.get("count") or 1, event.get("series")
    if series is not None:
        last, count = age(series.get("lastObservedTime"), now), series.get("count") or 0
    involved = event["involvedObject"]
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name")
    source = _part(event, "source")
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return [
        last, event.get("type", ""), event.get("reason", ""), f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""), f"{component}, {host}" if host else component,
        str(event.get("message", "")).strip(), first, count, _name(event),
    ]  # fmt: skip


_CELLS: Final[dict[str, Callable[[Manifest, int], Cells]]] = {
    "Pod": _pod,
    "Node": _node,
    "Namespace": _namespace,
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": _persistent_volume_claim,
    "StorageClass": _storage_class,
    "CSINode": _csi_node,
    "CSIDriver": _csi_driver,
    "VolumeAttachment": _volume_attachment,
    "PodDisruptionBudget": _budget,
    "PriorityClass": _priority_class,
    "RuntimeClass": _runtime_class,
    "ResourceQuota": _quota,
    "Service": _service,
    "ReplicationController": _replication_controller,
    "ReplicaSet": _replica_set,
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _cron_job,
    "ConfigMap": _config_map,
    "Secret": _secret,
    "ServiceAccount": _service_account,
    "Endpoints": _endpoints,
    "EndpointSlice": _endpoint_slice,
    "ControllerRevision": _controller_revision,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _aged,
    "ResourceSlice": _slice,
    "DeviceClass": _aged,
    "Lease": _lease,
    "Event": _event,
}
