"""The operations of a workload with their fields as in the files, after parameters were put in.

An unknown operation, and a field an operation has not here, is `NotSupported` by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from scheduler_core import typed
from tools.bench.scheduler_perf.problems import NotSupported

_PARAM: Final = "Param"


class _Operation(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, tag_field="opcode"):
    pass


class LabelStrategy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Each node gets the label with one of the values, in turn."""

    label_key: str
    label_values: tuple[str, ...]


class DriverLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many volumes of a CSI driver a node takes."""

    count: int


class AllocatableStrategy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What each node has besides its template's, and its CSINode."""

    node_allocatable: dict[str, str] = {}
    csi_node_allocatable: dict[str, DriverLimit] = {}
    migrated_plugins: tuple[str, ...] = ()


class CreateNodes(_Operation, frozen=True, tag="createNodes"):
    count: int
    node_template_path: str = ""
    label_node_prepare_strategy: LabelStrategy | None = None
    node_allocatable_strategy: AllocatableStrategy | None = None


class CreateNamespaces(_Operation, frozen=True, tag="createNamespaces"):
    prefix: str
    count: int
    namespace_template_path: str = ""


class CreatePods(_Operation, frozen=True, tag="createPods"):
    count: int
    namespace: str = ""
    pod_template_path: str = ""
    persistent_volume_template_path: str = ""
    persistent_volume_claim_template_path: str = ""
    collect_metrics: bool = False
    skip_wait_to_completion: bool = False
    steady_state: bool = False
    duration: str = ""


class CreatePodSets(_Operation, frozen=True, tag="createPodSets"):
    count: int
    namespace_prefix: str
    create_pods_op: CreatePods


class CreateAny(_Operation, frozen=True, tag="createAny"):
    template_path: str
    namespace: str = ""
    count: int = 1


class UpdateAny(_Operation, frozen=True, tag="updateAny"):
    template_path: str
    namespace: str = ""
    count: int = 1
    update_per_second: int = 0
    subresources: tuple[str, ...] = ()


class DeletePods(_Operation, frozen=True, tag="deletePods"):
    namespace: str
    label_selector: dict[str, str] = {}
    delete_pods_per_second: int = 0
    skip_wait_to_completion: bool = False


class Churn(_Operation, frozen=True, tag="churn"):
    mode: str
    template_paths: tuple[str, ...]
    number: int = 0
    namespace: str = ""
    interval_milliseconds: int = 500


class Barrier(_Operation, frozen=True, tag="barrier"):
    namespaces: tuple[str, ...] = ()
    label_selector: dict[str, str] = {}
    stage_requirement: str = "Scheduled"


class Sleep(_Operation, frozen=True, tag="sleep"):
    duration: str


class StartCollectingMetrics(_Operation, frozen=True, tag="startCollectingMetrics"):
    namespaces: tuple[str, ...]
    name: str = ""
    label_selector: dict[str, str] = {}


class StopCollectingMetrics(_Operation, frozen=True, tag="stopCollectingMetrics"):
    pass


class CreateResourceDriver(_Operation, frozen=True, tag="createResourceDriver"):
    driver_name: str
    nodes: str
    max_claims_per_node: int


class AllocResourceClaims(_Operation, frozen=True, tag="allocResourceClaims"):
    namespace: str = ""


Operation = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreatePodSets
    | CreateAny
    | UpdateAny
    | DeletePods
    | Churn
    | Barrier
    | Sleep
    | StartCollectingMetrics
    | StopCollectingMetrics
    | CreateResourceDriver
    | AllocResourceClaims
)
_CHOICES: Final = {"mode": ("create", "recreate"), "stageRequirement": ("Attempted", "Scheduled")}


def operation_of(written: Any, params: Mapping[str, Any]) -> Operation:
    """The operation with the parameters of a workload; raises NotSupported."""
    filled = _filled(written, params)
    opcode = filled.get("opcode", "")
    try:
        made: Operation = typed.convert(filled, Operation)
    except msgspec.ValidationError as error:
        raise NotSupported(f"operation {opcode}: {error}") from error
    for field, choices in _CHOICES.items():
        if field in filled and filled[field] not in choices:
            raise NotSupported(f"operation {opcode}: {field} {filled[field]}")
    return made


def _filled(written: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """`countParam: $name` becomes `count` with the workload's value of that name, inside of operations as well."""
    if not isinstance(written, dict):
        raise NotSupported("an operation that is not an object")
    filled: dict[str, Any] = {}
    for field, value in written.items():
        if field.endswith(_PARAM) and isinstance(value, str) and value.startswith("$"):
            if value[1:] not in params:
                raise NotSupported(f"operation {written.get('opcode', '')}: no parameter {value}")
            filled[field.removesuffix(_PARAM)] = params[value[1:]]
        else:
            filled[field] = _filled(value, params) if field.endswith("Op") else value
    return filled
