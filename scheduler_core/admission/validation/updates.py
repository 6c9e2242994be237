"""What may not change once an object exists.

Source: kubernetes v1.34.1, pkg/apis/*/validation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid, required
from scheduler_core.admission.gates import gate_problems, gated_problems
from scheduler_core.admission.validation.configuration import locked_problems, revision_change_problems
from scheduler_core.admission.validation.endpoints import slice_endpoints_problems
from scheduler_core.admission.validation.formats import IMMUTABLE, MAX_INT32
from scheduler_core.admission.validation.kinds import node_address_problems, taint_problems
from scheduler_core.admission.validation.pods import padded_image_problems
from scheduler_core.admission.validation.schedules import cron_job_spec_problems
from scheduler_core.api.quantity import parse
from scheduler_core.api.schema import internal_diff, internal_text, json_text, type_named

_ONLY_THESE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_SET_FIELDS: Final = (
    "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)  # fmt: skip
_SET_FORBIDDEN: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_CLAIM_FORBIDDEN: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_SOURCES: Final = tuple(type_named("core.PersistentVolumeSource").fields)


def change_problems(new: Manifest, old: Manifest, kind: str) -> Iterator[Problem]:
    """Of the step from old to new, beside what either of them breaks by itself."""
    check = _CHECKS.get(kind)
    if check is not None:
        yield from check(new, old)


def _immutable(path: str, new: Any, old: Any, shape: str) -> Iterator[Problem]:
    """`shape`: the type the value is printed as, in the server's own form unless it starts with `meta.` or is plain."""
    if new == old:
        return
    if new is None:
        shown = "null"
    elif shape.startswith(("meta.", "{}", "[]string", "string", "int", "bool")):
        shown = json_text(new, shape)
    else:
        shown = internal_text(new, shape)
    yield invalid(path, Shown(shown), IMMUTABLE)


def _pod(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = new["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        ours, theirs = spec.get(field) or [], before.get(field) or []
        if len(ours) != len(theirs):
            yield forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(ours):
            if not container.get("image"):
                yield required(f"spec.{field}[{index}].image")
        yield from padded_image_problems(f"spec.{field}", ours)
    after, was = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if after is not None and not 0 <= after <= MAX_INT32:
        yield invalid("spec.activeDeadlineSeconds", after, f"must be between 0 and {MAX_INT32}, inclusive")
        return
    if after is not None and was is not None and was < after:
        yield invalid("spec.activeDeadlineSeconds", after, "must be less than or equal to previous value")
        return
    if after is None and was is not None:
        yield invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
    yield from _tolerations(spec.get("tolerations", []), before.get("tolerations", []))
    yield from gate_problems(before, spec)
    if spec == before:
        return
    munged = _munged(spec, before)
    if before.get("schedulingGates"):
        yield from gated_problems(before, spec)
        if "nodeSelector" in before:
            munged["nodeSelector"] = before["nodeSelector"]
        else:
            munged.pop("nodeSelector", None)
        _copy_node_affinity(munged, before)
    if munged != before:
        difference = internal_diff(before, munged, "core.PodSpec")
        yield forbidden("spec", f"{_ONLY_THESE}\n{difference}")


def _munged(spec: Manifest, before: Manifest) -> Manifest:
    """The new spec with the old values of what has rules of its own."""
    munged = copy.deepcopy(spec)
    for field in ("containers", "initContainers"):
        for container, other in zip(munged.get(field) or (), before.get(field) or (), strict=True):
            _take(container, other, "image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _take(munged, before, field)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return munged


def _take(holder: Manifest, other: Manifest, field: str) -> None:
    if field in other:
        holder[field] = other[field]
    else:
        holder.pop(field, None)


def _copy_node_affinity(munged: Manifest, before: Manifest) -> None:
    """Node affinity has been checked by itself; whether there is an affinity at all follows it."""
    ours, theirs = munged.get("affinity"), before.get("affinity", {}).get("nodeAffinity")
    if (ours or {}).get("nodeAffinity") == theirs:
        return
    if ours is None:
        munged["affinity"] = {"nodeAffinity": theirs}
    elif "affinity" not in before and not {"podAffinity", "podAntiAffinity"} & ours.keys():
        del munged["affinity"]
    else:
        _take(ours, before.get("affinity", {}), "nodeAffinity")


def _tolerations(new: list[Manifest], old: list[Manifest]) -> Iterator[Problem]:
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _without_seconds(toleration: Manifest) -> Manifest:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _node(new: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from node_address_problems(new["status"].get("addresses", []))
    before = old["spec"]
    yield from _pod_ranges(new["spec"].get("podCIDRs", []), before.get("podCIDRs", []))
    if before.get("providerID") and before["providerID"] != new["spec"].get("providerID"):
        yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    yield from taint_problems(new["spec"])
    if new["spec"].get("externalID", "") != before.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _pod_ranges(ranges: list[str], before: list[str]) -> Iterator[Problem]:
    """A node may be given its ranges once."""
    changed = len(ranges) != len(before) or sum(one != other for one, other in zip(ranges, before, strict=True))
    if before:
        detail = 'node updates may not change podCIDR except from "" to valid'
        yield from [forbidden("spec.podCIDRs", detail)] * changed


def _priority_class(new: Manifest, old: Manifest) -> Iterator[Problem]:
    if new["value"] != old["value"]:
        yield forbidden("value", "may not be changed in an update.")
    yield from _immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"), "string")


def _storage_class(new: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if new.get(field) != old.get(field):
            yield forbidden(field, f"updates to {field} are forbidden.")
    yield from _immutable("volumeBindingMode", new.get("volumeBindingMode"), old.get("volumeBindingMode"), "string")


def _selector(new: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from _immutable(
        "spec.selector", new["spec"].get("selector"), old["spec"].get("selector"), "meta.LabelSelector"
    )


def _stateful_set(new: Manifest, old: Manifest) -> Iterator[Problem]:
    fixed = [{key: value for key, value in each["spec"].items() if key not in _SET_FIELDS} for each in (new, old)]
    if fixed[0] != fixed[1]:
        yield forbidden("spec", _SET_FORBIDDEN)


def _job(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = new["spec"], old["spec"]
    completions = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        yield from _immutable("spec.completions", completions, before.get("completions"), "int32")
    elif completions not in (None, before.get("completions")) and completions != spec.get("parallelism"):
        yield invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")
    yield from _immutable("spec.selector", spec.get("selector"), before.get("selector"), "meta.LabelSelector")
    template = before["template"]
    started = "startTime" in old.get("status", {})
    if before.get("suspend") and not started:
        template = _with_scheduling(template, spec["template"])
    yield from _immutable("spec.template", spec["template"], template, "core.PodTemplateSpec")
    for field, shape in (
        ("completionMode", "string"),
        ("podFailurePolicy", "batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", "int32"),
        ("managedBy", "string"),
        ("successPolicy", "batch.SuccessPolicy"),
    ):
        yield from _immutable(f"spec.{field}", spec.get(field), before.get(field), shape)


def _with_scheduling(template: Manifest, new: Manifest) -> Manifest:
    """The old template with the new one's directives for the scheduler, which a suspended job may change."""
    result = copy.deepcopy(template)
    for field in ("labels", "annotations"):
        _take(result["metadata"], new["metadata"], field)
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        _take(result["spec"], new["spec"], field)
    ours = result["spec"].get("affinity", {})
    _take(ours, new["spec"].get("affinity", {}), "nodeAffinity")
    if ours:
        result["spec"]["affinity"] = ours
    else:
        result["spec"].pop("affinity", None)
    return result


def _persistent_volume(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = new["spec"], old["spec"]
    sources = [{name: each[name] for name in _SOURCES if name in each} for each in (before, spec)]
    if sources[0] != sources[1]:
        difference = internal_diff(sources[0], sources[1], "core.PersistentVolumeSource")
        detail = f"spec.persistentvolumesource is immutable after creation\n{difference}"
        yield forbidden("spec.persistentvolumesource", detail)
    yield from _immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"), "string")
    affinity, was = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was is not None and affinity != was:
        shown = Shown(internal_text(affinity, "core.VolumeNodeAffinity") if affinity is not None else "null")
        yield invalid("nodeAffinity", shown, f"{IMMUTABLE}, except for updating from beta label to GA")
    if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in spec:
        yield forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _claim(new: Manifest, old: Manifest) -> Iterator[Problem]:
    ours, theirs = copy.deepcopy(new["spec"]), copy.deepcopy(old["spec"])
    if not theirs.get("volumeName"):
        _take(theirs, ours, "volumeName")
    if "storageClassName" not in theirs:
        _take(ours, theirs, "storageClassName")
    sizes = [each["spec"]["resources"].get("requests", {}).get("storage", "0") for each in (new, old)]
    if new["status"].get("phase") == "Bound":
        if "requests" in ours["resources"] and "storage" in theirs["resources"].get("requests", {}):
            ours["resources"]["requests"]["storage"] = theirs["resources"]["requests"]["storage"]
        _take(ours, theirs, "volumeAttributesClassName")
    if ours != theirs:
        difference = internal_diff(theirs, ours, "core.PersistentVolumeClaimSpec")
        yield forbidden("spec", f"{_CLAIM_FORBIDDEN}\n{difference}")
    if parse(sizes[0]) < parse(sizes[1]):
        held = new["status"].get("capacity", {}).get("storage", "0")
        if parse(sizes[0]) <= parse(held):
            yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from _immutable("volumeMode", new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "string")


def _service(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = new["spec"], old["spec"]
    classes = [each.get("loadBalancerClass") for each in (spec, before)]
    if spec["type"] == before["type"] == "LoadBalancer" and classes[0] != classes[1]:
        yield invalid("spec.loadBalancerClass", classes[0], "may not change once set")
    if "ExternalName" in (spec["type"], before["type"]):
        return
    ours, theirs = spec.get("clusterIPs", []), before.get("clusterIPs", [])
    if theirs and (not ours or ours[0] != theirs[0]):
        detail = "may not change once set" if ours else "primary clusterIP can not be unset"
        yield invalid("spec.clusterIPs[0]", ours, detail)


def _whole_spec(shape: str) -> Callable[[Manifest, Manifest], Iterator[Problem]]:
    def check(new: Manifest, old: Manifest) -> Iterator[Problem]:
        yield from _immutable("spec", new["spec"], old["spec"], shape)

    return check


def _resource_slice(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = new["spec"], old["spec"]
    yield from _immutable("spec.pool.name", spec["pool"]["name"], before["pool"]["name"], "string")
    yield from _immutable("spec.driver", spec["driver"], before["driver"], "string")
    yield from _immutable("spec.nodeName", spec.get("nodeName"), before.get("nodeName"), "string")


def _runtime_class(new: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from _immutable("handler", new["handler"], old["handler"], "string")


def _quota(new: Manifest, old: Manifest) -> Iterator[Problem]:
    scopes = [sorted(each["spec"].get("scopes", [])) for each in (new, old)]
    if scopes[0] != scopes[1]:
        yield invalid("spec.scopes", new["spec"].get("scopes"), IMMUTABLE)


def _csi_driver(new: Manifest, old: Manifest) -> Iterator[Problem]:
    for field, shape in (("attachRequired", "bool"), ("volumeLifecycleModes", "[]string")):
        path = "spec.attachedRequired" if field == "attachRequired" else f"spec.{field}"
        yield from _immutable(path, new["spec"].get(field), old["spec"].get(field), shape)


def _csi_capacity(new: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from _immutable("nodeTopology", new.get("nodeTopology"), old.get("nodeTopology"), "meta.LabelSelector")
    yield from _immutable("storageClassName", new["storageClassName"], old["storageClassName"], "string")


def _csi_node(new: Manifest, old: Manifest) -> Iterator[Problem]:
    after = {driver["name"]: driver for driver in new["spec"]["drivers"] or ()}
    for driver in old["spec"]["drivers"] or ():
        same = after.get(driver["name"])
        if same is not None and same != driver:
            text = Shown(internal_text(same, "storage.CSINodeDriver"))
            yield invalid("spec.drivers", text, IMMUTABLE)


def _secret(new: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from _immutable("type", new.get("type"), old.get("type"), "string")
    yield from locked_problems(new, old)


def _volume_attributes_class(new: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in ("driverName", "parameters"):
        if new.get(field) != old.get(field):
            yield forbidden(field, f"updates to {field} are forbidden.")


def _endpoint_slice(new: Manifest, old: Manifest) -> Iterator[Problem]:
    if new["endpoints"] != old["endpoints"]:
        yield from slice_endpoints_problems(new)
    yield from _immutable("addressType", new["addressType"], old["addressType"], "string")


def _cron_job(new: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from cron_job_spec_problems(new["spec"], old["spec"])


_CHECKS: Final[dict[str, Callable[[Manifest, Manifest], Iterator[Problem]]]] = {
    "ConfigMap": locked_problems,
    "Secret": _secret,
    "EndpointSlice": _endpoint_slice,
    "CronJob": _cron_job,
    "ControllerRevision": revision_change_problems,
    "Pod": _pod,
    "Node": _node,
    "PriorityClass": _priority_class,
    "StorageClass": _storage_class,
    "VolumeAttributesClass": _volume_attributes_class,
    "ReplicaSet": _selector,
    "Deployment": _selector,
    "DaemonSet": _selector,
    "StatefulSet": _stateful_set,
    "Job": _job,
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": _claim,
    "Service": _service,
    "ResourceClaim": _whole_spec("resource.ResourceClaimSpec"),
    "ResourceClaimTemplate": _whole_spec("resource.ResourceClaimTemplateSpec"),
    "ResourceSlice": _resource_slice,
    "RuntimeClass": _runtime_class,
    "ResourceQuota": _quota,
    "CSIDriver": _csi_driver,
    "CSIStorageCapacity": _csi_capacity,
    "CSINode": _csi_node,
    "VolumeAttachment": _whole_spec("storage.VolumeAttachmentSpec"),
}
