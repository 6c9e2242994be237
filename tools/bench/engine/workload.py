"""A workload file as manifests: nodes, pods that run already, pods to schedule in order.

Files (`schedbench/1`, JSON, gzipped or not) hold templates and index arrays; names, uids and the hostname label follow
from the index. `resized` repeats the nodes of a file up to another number, each round with its existing pods;
`with_own_signatures` makes W8 of W5, `with_devices` WD of W1. Raises `WorkloadError` for what is no such file.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from scheduler_core.api import quantity
from scheduler_core.errors import WorkloadError
from tools.bench.engine.devices import devices_of, with_claim

FORMAT = "schedbench/1"
OWN_KEY = "bench/own"  # label and toleration of W8
HOSTNAME = "kubernetes.io/hostname"
W1, W5, W8, WD = "W1", "W5", "W8", "WD"
DEVICES_PER_NODE = 8  # of WD
SUFFIXES = (".json.gz", ".json")

Manifest = dict[str, Any]

_GZIP = b"\x1f\x8b"


class _File(msgspec.Struct, rename="camel"):
    """The parts of a file that are needed here; `existing` are (template, node index)."""

    format: str
    workload: str
    namespaces: list[Manifest]
    node_templates: list[Manifest]
    node_template_of: list[int]
    existing_templates: list[Manifest]
    pod_templates: list[Manifest]
    pod_template_of: list[int]
    existing: list[tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Nodes, running pods and pods to schedule, as templates; `objects` and `pods` make the manifests."""

    name: str
    namespaces: list[Manifest]
    node_templates: list[Manifest]
    node_template_of: list[int]
    existing_templates: list[Manifest]
    existing: list[tuple[int, int]]
    pod_templates: list[Manifest]
    pod_template_of: list[int]
    own_signatures: bool = False
    devices_per_node: int = 0

    @property
    def num_nodes(self) -> int:
        return len(self.node_template_of)

    @property
    def num_existing(self) -> int:
        return len(self.existing)

    @property
    def num_pods(self) -> int:
        return len(self.pod_template_of)

    def objects(self) -> list[Manifest]:
        """Return all that is there before the first pod comes: namespaces, nodes, pods on them."""
        namespaces = [_named(template, template["metadata"]["name"]) for template in self.namespaces]
        devices = devices_of(self.num_nodes, self.devices_per_node, self.num_pods) if self.devices_per_node else []
        return [*namespaces, *devices, *self._nodes(), *self._existing_pods()]

    def pods(self) -> list[Manifest]:
        """Return the pods to schedule, in order."""
        named = [
            _named(self.pod_templates[template], f"pod-{index:06d}")
            for index, template in enumerate(self.pod_template_of)
        ]
        if self.devices_per_node:
            return list(map(with_claim, named))
        return [self._own(manifest, index) for index, manifest in enumerate(named)] if self.own_signatures else named

    def resized(self, num_nodes: int) -> Workload:
        """Return the workload with `num_nodes` nodes: the file's repeated, each round with its running pods."""
        templates, base = self.node_template_of, self.num_nodes
        rounds = range(-(-num_nodes // base))
        existing = [(template, node + base * number) for number in rounds for template, node in self.existing]
        return replace(
            self,
            node_template_of=[templates[node % base] for node in range(num_nodes)],
            existing=[(template, node) for template, node in existing if node < num_nodes],
        )

    def with_pods(self, num_pods: int) -> Workload:
        """Return the workload with `num_pods` pods to schedule: the first ones, or all repeated."""
        templates = self.pod_template_of
        return replace(self, pod_template_of=[templates[pod % self.num_pods] for pod in range(num_pods)])

    def with_own_signatures(self, name: str) -> Workload:
        """Return the workload under another name, every pod with a label, a request and a toleration of its own.

        Pod j has the label and the toleration (Equal, NoSchedule) bench/own = its name, which no selector and no taint
        asks for, and j + 1 bytes of memory more in its first container: it goes where it would have gone anyway.
        """
        return replace(self, name=name, own_signatures=True)

    def with_devices(self, name: str, per_node: int) -> Workload:
        """Return the workload under another name: so many devices on each node, and a claim of one for every pod.

        Half of the devices are of the model that the claims ask for.
        """
        return replace(self, name=name, devices_per_node=per_node)

    def _nodes(self) -> Iterator[Manifest]:
        for index, template in enumerate(self.node_template_of):
            name = f"node-{index:05d}"
            manifest = _named(self.node_templates[template], name)
            manifest["metadata"]["labels"] = {**manifest["metadata"].get("labels", {}), HOSTNAME: name}
            yield manifest

    def _existing_pods(self) -> Iterator[Manifest]:
        for index, (template, node) in enumerate(self.existing):
            manifest = _named(self.existing_templates[template], f"existing-{index:06d}")
            manifest["spec"] = {**manifest["spec"], "nodeName": f"node-{node:05d}"}
            yield manifest

    @staticmethod
    def _own(manifest: Manifest, index: int) -> Manifest:
        metadata, spec = manifest["metadata"], manifest["spec"]
        name = metadata["name"]
        first, *others = spec["containers"]
        resources = first.get("resources", {})
        requests = resources.get("requests", {})
        memory = str(quantity.parse(requests.get("memory", 0)).value() + index + 1)
        first = {**first, "resources": {**resources, "requests": {**requests, "memory": memory}}}
        toleration = {"key": OWN_KEY, "operator": "Equal", "value": name, "effect": "NoSchedule"}
        return {
            **manifest,
            "metadata": {**metadata, "labels": {**metadata.get("labels", {}), OWN_KEY: name}},
            "spec": {
                **spec,
                "containers": [first, *others],
                "tolerations": [*spec.get("tolerations", ()), toleration],
            },
        }


def read_workload(path: Path) -> Workload:
    """The workload of a file."""
    try:
        data = path.read_bytes()
        file = msgspec.json.decode(gzip.decompress(data) if data[:2] == _GZIP else data, type=_File)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise WorkloadError(f"{path}: {error}") from error
    if file.format.partition(":")[0] != FORMAT:
        raise WorkloadError(f"{path}: its format is not {FORMAT}")
    return Workload(
        name=file.workload,
        namespaces=file.namespaces,
        node_templates=file.node_templates,
        node_template_of=file.node_template_of,
        existing_templates=file.existing_templates,
        existing=file.existing or [],
        pod_templates=file.pod_templates,
        pod_template_of=file.pod_template_of,
    )


def find_workload(word: str, folder: Path) -> Workload:
    """By path, or by stem in the folder: `W1_n5000_e0_p2000`, or without the pods, which means 2,000 where that exists.

    A W8 is made of the W5 of the same size, a WD of the W1.
    """
    if word.endswith(SUFFIXES) or "/" in word:
        return read_workload(Path(word))
    if word.startswith(WD + "_"):
        return find_workload(W1 + word.removeprefix(WD), folder).with_devices(WD, DEVICES_PER_NODE)
    if word.startswith(W8 + "_"):
        return find_workload(W5 + word.removeprefix(W8), folder).with_own_signatures(W8)
    return read_workload(_file_of_stem(word, folder))


def _file_of_stem(stem: str, folder: Path) -> Path:
    files = {_stem(path): path for path in sorted(folder.glob("*.json*")) if path.name.endswith(SUFFIXES)}
    meant = [name for name in files if name == stem or name == f"{stem}_p2000"]
    meant = meant or [name for name in files if name.startswith(f"{stem}_p")]
    if len(meant) == 1:
        return files[meant[0]]
    if not files:
        raise WorkloadError(f"{stem}: there are no workloads in {folder}")
    like = meant or [name for name in files if name.startswith(stem.partition("_")[0] + "_")] or list(files)
    raise WorkloadError(f"{stem}: {'which of them' if meant else 'no such workload; there are'} {', '.join(like)}")


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")


def _named(template: Manifest, name: str) -> Manifest:
    return {**template, "metadata": {**template["metadata"], "name": name, "uid": f"uid-{name}"}}
