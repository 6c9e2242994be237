"""The openb trace (a production GPU cluster) as manifests; node file and pod file are told apart by their headers.

node  allocatable cpu, memory, 110 pods, `nvidia.com/gpu` whole, `example.com/gpu-milli` 1000 for each; label gpu-model
task  requests cpu, memory and `example.com/gpu-milli` = num_gpu x gpu_milli; gpu_spec "A|B" -> required node affinity;
      qos -> priority class (LS, Burstable, Guaranteed 1000, BE 0), none of which preempts

Phase and scheduling time of the trace are not taken over: every task begins as pending.
Source: cluster-trace-gpu-v2023.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kschedweb.cluster.intake.problems import Place, UnreadableError

NODE_HEADER = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_HEADER = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
GPU = "nvidia.com/gpu"
GPU_MILLI = "example.com/gpu-milli"
MODEL_LABEL = "gpu-model"
PODS_PER_NODE = "110"
NAMESPACE = "default"
IMAGE = "openb-task"

CLASSES = {"openb-latency-sensitive": 1000, "openb-best-effort": 0}
CLASS_OF_QOS = {
    "LS": "openb-latency-sensitive",
    "Burstable": "openb-latency-sensitive",
    "Guaranteed": "openb-latency-sensitive",
    "BE": "openb-best-effort",
}
NEVER = "Never"
# Beyond any machine, and safely within the engine's integers whatever unit follows.
_MAX_DIGITS = 12

Row = Mapping[str, str]


def is_header(line: str) -> bool:
    """Whether the line is the header of either file."""
    columns = tuple(column.strip() for column in line.split(","))
    return columns in (NODE_HEADER, POD_HEADER)


def read(name: str, text: str) -> Iterator[tuple[Place, Any]]:
    """The manifests of one file, each with its line, and an UnreadableError in place of a row that cannot be read.

    UnreadableError as well for a file of other columns, or one that is not CSV to its end.
    """
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = tuple(column.strip() for column in next(lines, []))
        if header not in (NODE_HEADER, POD_HEADER):
            raise UnreadableError(
                Place(name, line=1), f"expected the columns {','.join(NODE_HEADER)} or {','.join(POD_HEADER)}"
            )
        is_pods = header == POD_HEADER
        if is_pods:
            for class_name, value in CLASSES.items():
                yield Place(name, line=1), _priority_class(class_name, value)
        for row in lines:
            place = Place(name, line=lines.line_num)
            if not row:
                continue
            yield place, _manifest(place, header, row, is_pods)
    except csv.Error as error:
        raise UnreadableError(Place(name, line=lines.line_num), f"is not sound CSV: {error}") from None


def _manifest(place: Place, header: Sequence[str], row: Sequence[str], is_pods: bool) -> Any:
    """The manifest of a row, or why it has none."""
    if len(row) != len(header):
        return UnreadableError(place, f"expected {len(header)} columns, got {len(row)}")
    fields = dict(zip(header, row, strict=True))
    try:
        return _pod(place, fields) if is_pods else _node(place, fields)
    except UnreadableError as problem:
        return problem


def _node(place: Place, row: Row) -> dict[str, Any]:
    gpus = _number(place, row, "gpu")
    labels = {"kubernetes.io/hostname": row["sn"]}
    allocatable = {
        "cpu": f"{_number(place, row, 'cpu_milli')}m",
        "memory": f"{_number(place, row, 'memory_mib')}Mi",
        "pods": PODS_PER_NODE,
    }
    if gpus:
        allocatable |= {GPU: str(gpus), GPU_MILLI: str(1000 * gpus)}
    if row["model"]:
        labels[MODEL_LABEL] = row["model"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "status": {"allocatable": allocatable, "capacity": dict(allocatable)},
    }


def _pod(place: Place, row: Row) -> dict[str, Any]:
    class_name = CLASS_OF_QOS.get(row["qos"])
    if class_name is None:
        raise UnreadableError(place, f"qos: expected one of {', '.join(CLASS_OF_QOS)}, got {row['qos']!r}")
    requests = {
        "cpu": f"{_number(place, row, 'cpu_milli')}m",
        "memory": f"{_number(place, row, 'memory_mib')}Mi",
    }
    gpu_milli = _number(place, row, "num_gpu") * _number(place, row, "gpu_milli")
    if gpu_milli:
        requests[GPU_MILLI] = str(gpu_milli)
    spec: dict[str, Any] = {
        "containers": [{"name": "task", "image": IMAGE, "resources": {"requests": requests}}],
        "priorityClassName": class_name,
        "priority": CLASSES[class_name],
        "preemptionPolicy": NEVER,
    }
    if gpu_milli:
        # Extended resources cannot be overcommitted: their limit equals their request.
        spec["containers"][0]["resources"]["limits"] = {GPU_MILLI: requests[GPU_MILLI]}
    if row["gpu_spec"]:
        models = {"key": MODEL_LABEL, "operator": "In", "values": row["gpu_spec"].split("|")}
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [models]}]
                }
            }
        }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": row["name"],
            "namespace": NAMESPACE,
            "annotations": {"openb/creation-time": row["creation_time"], "openb/deletion-time": row["deletion_time"]},
        },
        "spec": spec,
    }


def _priority_class(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": NEVER,
    }


def _number(place: Place, row: Row, column: str) -> int:
    text = row[column].strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise UnreadableError(place, f"{column}: expected a whole number from 0 on, got {row[column][:40]!r}")
    return int(text)
