"""Extenders that do as they are told: answers by verb, every question kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.build import build
from scheduler_core.config.types import Extender, KubeSchedulerProfile
from scheduler_core.errors import ExtenderError
from scheduler_core.ports import FirstDraws
from tests.builders import make_node
from tests.core.scheduler.harness import Cluster, ToldPlugins, configure

Answer = Callable[[dict[str, Any]], Any]
URL = "http://e"
GPU = "example.com/gpu"
NAMES_ONLY = Extender(url_prefix=URL, filter_verb="filter", node_cache_capable=True)


def refuse(text: str) -> Answer:
    """The question does not get through."""

    def answer(_question: dict[str, Any]) -> Any:
        raise ExtenderError(text)

    return answer


def names_of(question: dict[str, Any]) -> list[str]:
    """The nodes a filter or prioritize question is about."""
    if question["NodeNames"] is not None:
        assert question["Nodes"] is None
        return list(question["NodeNames"])
    return [item["metadata"]["name"] for item in question["Nodes"]["items"]]


def only(*kept: str, **more: Any) -> Answer:
    """Keeps these nodes by name."""
    return lambda question: {"NodeNames": [name for name in names_of(question) if name in kept], **more}


@dataclass
class ToldExtenders:
    """The other end of all extenders; `asked` are (url prefix, verb, question)."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def connect(self, extender: Extender) -> _Told:
        return _Told(self, extender.url_prefix)

    def questions(self, verb: str) -> list[dict[str, Any]]:
        return [question for _, asked, question in self.asked if asked == verb]


@dataclass
class _Told:
    told: ToldExtenders
    prefix: str

    def call(self, verb: str, payload: bytes) -> bytes:
        question = json.loads(payload)
        self.told.asked.append((self.prefix, verb, question))
        answer = self.told.answers[verb](question)
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def start_with(
    told: ToldExtenders,
    *extenders: Extender,
    profile: KubeSchedulerProfile | None = None,
    plugins: ToldPlugins | None = None,
    count: int = 3,
    use_table: bool = True,
    log: Callable[[str, dict[str, object]], None] = lambda message, fields: None,
) -> Cluster:
    """A cluster of so many nodes under the profile, or under upstream's defaults."""
    profiles = (profile,) if profile is not None else ()
    cluster = Cluster(
        build(
            configure(*profiles, extenders=extenders),
            draws=FirstDraws(),
            use_table=use_table,
            registry=plugins.factories if plugins is not None else None,
            connect_extender=told.connect,
            log=log,
        )
    )
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    cluster.put(*(make_node(f"n{index}").capacity(room).build() for index in range(count)))
    return cluster
