"""What may not change once an object exists.

Source: kubernetes v1.34.1, pkg/apis/*/validation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid
from scheduler_core.admission.storage_class import BETA_CLASS
from scheduler_core.admission.validation.configuration import locked_problems, revision_change_problems
from scheduler_core.admission.validation.endpoints import slice_endpoints_problems
from scheduler_core.admission.validation.formats import IMMUTABLE
from scheduler_core.admission.validation.kinds import node_address_problems, taint_problems
from scheduler_core.admission.validation.persistent_volumes import volume_change_problems
from scheduler_core.admission.validation.pod_changes import pod_change_problems, take
from scheduler_core.admission.validation.schedules import cron_job_spec_problems
from scheduler_core.admission.validation.services import service_change_problems
from scheduler_core.api.quantity import parse
from scheduler_core.api.schema import internal_diff, internal_text, json_text

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
        take(result["metadata"], new["metadata"], field)
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        take(result["spec"], new["spec"], field)
    ours = result["spec"].get("affinity", {})
    take(ours, new["spec"].get("affinity", {}), "nodeAffinity")
    if ours:
        result["spec"]["affinity"] = ours
    else:
        result["spec"].pop("affinity", None)
    return result


def _claim(new: Manifest, old: Manifest) -> Iterator[Problem]:
    ours, theirs = copy.deepcopy(new["spec"]), copy.deepcopy(old["spec"])
    classes = [(each["metadata"].get("annotations") or {}).get(BETA_CLASS) for each in (new, old)]
    chosen = ours.get("storageClassName")
    if not theirs.get("volumeName"):
        take(theirs, ours, "volumeName")
    is_upgraded = "storageClassName" not in theirs and chosen is not None and classes[1] in (None, chosen)
    if is_upgraded:
        take(ours, theirs, "storageClassName")
    # With the field the annotation may go, but not become another one.
    if (classes[0] or "") != (classes[1] or "") and not (is_upgraded and classes[0] is None):
        yield invalid(f"metadata.annotations.{BETA_CLASS}", classes[0] or "", IMMUTABLE)
    sizes = [each["spec"]["resources"].get("requests", {}).get("storage", "0") for each in (new, old)]
    if new["status"].get("phase") == "Bound":
        if "requests" in ours["resources"] and "storage" in theirs["resources"].get("requests", {}):
            ours["resources"]["requests"]["storage"] = theirs["resources"]["requests"]["storage"]
        if "volumeAttributesClassName" in ours:
            take(ours, theirs, "volumeAttributesClassName")
    if ours != theirs:
        difference = internal_diff(theirs, ours, "core.PersistentVolumeClaimSpec")
        yield forbidden("spec", f"{_CLAIM_FORBIDDEN}\n{difference}")
    if parse(sizes[0]) < parse(sizes[1]):
        held = new["status"].get("capacity", {}).get("storage", "0")
        if parse(sizes[0]) <= parse(held):
            yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from _immutable("volumeMode", new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "string")
    named = [each["spec"].get("volumeAttributesClassName") for each in (new, old)]
    if named[1] is not None and not named[0]:
        what = "nil" if named[0] is None else "an empty string"
        yield forbidden("spec.volumeAttributesClassName", f"update from non-nil value to {what} is forbidden")


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
    "Pod": pod_change_problems,
    "Node": _node,
    "PriorityClass": _priority_class,
    "StorageClass": _storage_class,
    "VolumeAttributesClass": _volume_attributes_class,
    "ReplicaSet": _selector,
    "Deployment": _selector,
    "DaemonSet": _selector,
    "StatefulSet": _stateful_set,
    "Job": _job,
    "PersistentVolume": volume_change_problems,
    "PersistentVolumeClaim": _claim,
    "Service": service_change_problems,
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
