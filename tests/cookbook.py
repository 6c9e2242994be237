"""The small cluster that docs/cookbook.md asks about, and the page as tests read it.

Each recipe is a section of the page: a question, `Click:` with a path, blocks of `sh`, then what they print, and a
block of `http` with a call, then what it answers. Whoever runs them takes them from here: nothing is written twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kschedweb.environment import ROOT

PAGE = (ROOT / "docs" / "cookbook.md").read_text()
CLUSTER = "shop"
ANY = "…"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CLICK = re.compile(r"^Click: (.+)$", re.MULTILINE)
_STEP = re.compile(r"`([^`]+)`|\*([^*]+)\*|“([^”]+)”")
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One of a path of clicks: text that is searched, the name of what is clicked, or what then stands there."""

    search: str = ""
    click: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """`body` may be `< FILE`. `answer`: of a download its headers."""

    method: str
    address: str
    body: str
    answer: Any


@dataclass(frozen=True, slots=True)
class Recipe:
    """`commands`: in lines, with what they print. `files`: by name, those that are read. Tellings may leave out."""

    question: str
    clicks: tuple[Step, ...]
    commands: tuple[tuple[str, str], ...]
    calls: tuple[Call, ...]
    files: dict[str, str]


def recipes(page: str = PAGE) -> Iterator[Recipe]:
    """The sections of the page that have a command."""
    for section in page.split("\n## ")[1:]:
        question, _, text = section.partition("\n")
        blocks = _BLOCK.findall(text)
        told = [(kind, body, said) for (kind, body), (_, said) in pairwise(blocks)]
        if any(kind == "sh" for kind, _, _ in told):
            yield Recipe(
                question,
                tuple(Step(*step) for line in _CLICK.findall(text) for step in _STEP.findall(line)),
                tuple((body, said) for kind, body, said in told if kind == "sh"),
                tuple(_call(body, said) for kind, body, said in told if kind == "http"),
                {f"pod.{kind}": body for kind, body in blocks if kind == "yaml"},
            )


def _call(text: str, said: str) -> Call:
    line, _, body = text.partition("\n")
    method, address = line.split()
    return Call(method, address, body.strip(), json.loads(said))


def is_text(told: str, said: str) -> bool:
    """Whether a text is as the page tells it: `…` stands for anything within a line, and alone for any lines."""
    lines = [
        r"(.*\n)*" if line == ANY else f"{ANY.join(map(re.escape, line.split(ANY)))}\n" for line in told.splitlines()
    ]
    return re.fullmatch("".join(lines).replace(ANY, ".*"), said if said.endswith("\n") else f"{said}\n") is not None


def lacking(told: Any, said: Any, at: str = "") -> list[str]:
    """What of the told answer is not so: fields that are not told may be anything, and so may what `…` stands for."""
    if told == ANY:
        return []
    if isinstance(told, dict) and isinstance(said, dict):
        return [each for name in told for each in lacking(told[name], said.get(name, "nothing"), f"{at}.{name}")]
    if isinstance(told, list) and isinstance(said, list):
        whole = told[-1:] != [ANY]
        rows = told if whole else told[:-1]
        apart = [
            each for place, one in enumerate(rows[: len(said)]) for each in lacking(one, said[place], f"{at}[{place}]")
        ]
        return (
            apart
            if (len(said) == len(rows) if whole else len(said) >= len(rows))
            else [*apart, f"{at} has {len(said)}"]
        )
    if isinstance(told, str) and isinstance(said, str) and is_text(told, said):
        return []
    return [] if told == said and type(told) is type(said) else [f"{at}: {said!r}"]


def node(name: str, cpu: str = "4", **labels: str) -> Manifest:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    return _named("Node", name, labels=labels, status={"allocatable": allocatable})


def pod(key: str, cpu: str, memory: str, **spec: Any) -> Manifest:
    """A pod of one container. When it is deleted it is gone at once."""
    namespace, name = key.split("/")
    container = {"name": "main", "image": "main:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _named(kind: str, name: str, api: str = "v1", labels: Mapping[str, str] | None = None, **fields: Any) -> Manifest:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": labels or {}}, **fields}


@dataclass(frozen=True, slots=True)
class Deed:
    """A call of the story, and how many pods are pending once the scheduler has tried all there is to try."""

    method: str
    path: str
    body: Any
    pending: int = 0


def _create(manifest: Manifest, pending: int) -> Deed:
    return Deed("POST", "objects", manifest, pending)


SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
PREFERS_SSD = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": SSD}]}
BEGINNING = [
    _named("Namespace", "shop"), _named("Namespace", "batch"),
    _named("PriorityClass", "pay", "scheduling.k8s.io/v1", value=100),
    _named("PriorityClass", "data", "scheduling.k8s.io/v1", value=5),
    node("node-1", disk="ssd"), node("node-2"), node("node-3"),
    pod("shop/db-0", "2250m", "2Gi", nodeName="node-1", priorityClassName="data"),
    pod("batch/report", "2500m", "1Gi", nodeName="node-2"),
]  # fmt: skip
# Five minutes lie between two of them.
STORY = (
    Deed("POST", "import", {"apiVersion": "v1", "kind": "List", "items": BEGINNING}),
    _create(pod("shop/web-1", "500m", "512Mi", affinity={"nodeAffinity": PREFERS_SSD}), 0),
    _create(pod("shop/big-0", "6", "1Gi"), 1),
    Deed("PATCH", "nodes/node-3", {"unschedulable": True}, 1),
    _create(pod("shop/api-7", "2", "1Gi"), 2),
    _create(pod("shop/pay-0", "3", "1Gi", priorityClassName="pay"), 2),
    _create(node("node-4", "1"), 2),
)
