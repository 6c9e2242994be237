"""A configuration file of scheduler_perf: test cases, each with operations and with workloads that give parameters.

Source: kubernetes v1.34.1, test/integration/scheduler_perf (testCase, workload, enabled).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from scheduler_core import typed
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.errors import WorkloadError, YamlError
from tools.bench.scheduler_perf.gates import engine_gates
from tools.bench.scheduler_perf.operations import Operation, operation_of
from tools.bench.scheduler_perf.problems import NotSupported

CONFIG_NAME: Final = "performance-config.yaml"
_BOUNDS: Final = YamlBounds(depth=64, values=1_000_000, alias_values=10_000)


class _Workload(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    name: str
    params: dict[str, Any] = {}
    labels: tuple[str, ...] = ()
    feature_gates: dict[str, bool] = {}
    threshold: float | None = None


class _TestCase(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    name: str
    workload_template: list[Any]
    workloads: list[_Workload]
    feature_gates: dict[str, bool] = {}
    default_pod_template_path: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PerfWorkload:
    """One workload of one test case; `operations` puts its parameters in. Paths of templates start in `folder`."""

    case: str
    name: str
    folder: Path
    labels: tuple[str, ...]
    feature_gates: Mapping[str, bool]
    threshold: float | None
    default_pod_template: str
    params: Mapping[str, Any]
    template: Sequence[Any]

    @property
    def key(self) -> str:
        return f"{self.case}/{self.name}"

    def operations(self) -> list[Operation]:
        """Raises NotSupported for what does not exist here."""
        return [operation_of(written, self.params) for written in self.template]

    def gates(self) -> dict[str, bool]:
        """The gates to build the engine with; raises NotSupported."""
        return engine_gates(self.feature_gates)


def read_file(path: Path) -> list[PerfWorkload]:
    """Every workload of a file, in its order; of a folder, those of all its files. WorkloadError for anything else."""
    if path.is_dir():
        found = sorted(path.rglob(CONFIG_NAME))
        if not found:
            raise WorkloadError(f"{path}: there is no {CONFIG_NAME} in it")
        return [workload for one in found for workload in read_file(one)]
    try:
        documents = [value for _, value in read_documents(path.read_bytes(), _BOUNDS)]
        cases = typed.convert(documents[0] if documents else [], list[_TestCase])
    except (OSError, YamlError, msgspec.ValidationError) as error:
        raise WorkloadError(f"{path}: {error}") from error
    return [workload for case in cases for workload in _workloads(case, path.parent)]


def _workloads(case: _TestCase, folder: Path) -> Iterator[PerfWorkload]:
    for workload in case.workloads:
        yield PerfWorkload(
            case=case.name,
            name=workload.name,
            folder=folder,
            labels=(*case.labels, *workload.labels),
            feature_gates={**case.feature_gates, **workload.feature_gates},
            threshold=workload.threshold,
            default_pod_template=case.default_pod_template_path,
            params=workload.params,
            template=case.workload_template,
        )


def is_labelled(labels: Sequence[str], asked: str) -> bool:
    """Whether the labels are as asked for: `performance,-short` is those with the one and without the other."""
    for word in filter(None, (word.strip() for word in asked.split(","))):
        if word.startswith("-"):
            if word[1:] in labels:
                return False
        elif word.removeprefix("+") not in labels:
            return False
    return True


def problem_of(workload: PerfWorkload) -> str:
    """Why the workload cannot be run here, empty when it can; templates are looked at when it runs."""
    problems: list[str] = []
    for ask in (workload.gates, workload.operations):
        try:
            ask()
        except NotSupported as error:
            problems.append(str(error))
    return "; ".join(problems)
