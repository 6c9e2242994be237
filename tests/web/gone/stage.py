"""A reader of a cluster is run again and again; something happens to the cluster one statement later each time."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases
from tests.builders import make_node, make_pod
from tests.web.gone.between import Meanwhile
from tests.web.scheduling.conftest import put
from tests.web.scheduling.test_cluster_deletion import left_of

NODE: dict[str, Any] = make_node("n1").capacity(cpu="2", memory="4Gi", pods="110").manifest()
BIG: dict[str, Any] = make_pod("big").req(cpu="99").manifest()
_serials = itertools.count(1)
NEVER = -1  # no statement has this number
GONE = "gone"  # as an answer: there is no such cluster


def pod(name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = make_pod(name).req(cpu="1").manifest()
    return manifest


@dataclass
class Stage:
    """What a reader is given: a new cluster, and what lasts as long as the run."""

    cluster: Cluster
    monkeypatch: pytest.MonkeyPatch

    @property
    def pk(self) -> int:
        return self.cluster.pk

    def put(self, *objects: Any) -> None:
        put(self.cluster, *objects)


@dataclass(frozen=True)
class Reader:
    """`prepare` makes everything ready and returns what reads: it is asked once, and returns what it answers.

    `is_part`: an answer may end early, with what has been said so far, or go on with what has happened.
    """

    name: str
    prepare: Callable[[Stage], Callable[[], object]]
    is_part: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Happening:
    """What happens to the cluster; `ends`: how answers begin that it may lead to besides the usual one."""

    name: str
    act: Callable[[Cluster], object]
    ends: tuple[str, ...] = ()
    is_end: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass
class Stages:
    """Runs readers. `log_lines` is what the service has logged."""

    between: Meanwhile
    log_lines: Callable[[], list[str]]

    def problems(self, reader: Reader, happening: Happening, *, everywhere: bool) -> list[str]:
        """What went wrong, by statement: when it happens at the one in the middle, or at every one."""
        usual, found, _ = self._run(reader, happening, NEVER)
        count = self.between.count
        assert count, "the reader has no statement"
        for number in range(count) if everywhere else [count // 2]:
            answer, wrong, _ = self._run(reader, happening, number)
            found += [f"{number}: {each}" for each in wrong]
            is_end = answer.startswith(happening.ends) or (reader.is_part and is_beginning(answer, usual))
            if answer != usual and not is_end:
                at = max(0, len(os.path.commonprefix([answer, usual])) - 100)
                found.append(f"{number}: answers … {answer[at:][:300]} in the place of … {usual[at:][:300]}")
        return found

    def _run(self, reader: Reader, happening: Happening, number: int) -> tuple[str, list[str], bool]:
        """The answer, what is wrong, and whether it happened at all."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kschedweb.common.wake.send", lambda *_, **__: None)
            patch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
            cluster = cluster_services.cluster_create(name=f"stage-{next(_serials)}", seed=1, actor="t")
            work = reader.prepare(Stage(cluster, patch))
            logged = len(self.log_lines())
            wrong, answer = [], ""
            with self.between.at(number, lambda: happening.act(cluster)):
                try:
                    answer = plain(work(), cluster)
                except Exception as error:
                    wrong.append(f"{type(error).__name__}: {error}")
            happened = self.between.happened
            wrong += [line for line in self.log_lines()[logged:] if not (line.startswith("I") or _REFUSED.search(line))]
            if happening.is_end and happened:
                wrong += [f"left: {each}" for each in left_of({cluster.pk}).items()]
            elif Cluster.objects.filter(pk=cluster.pk).exists():
                cluster_services.cluster_delete(cluster_id=cluster.pk)
            return answer, wrong, happened


def is_beginning(one: str, other: str) -> bool:
    """Whether one of them goes on where the other ends, be it within its last frame."""
    return one.startswith(other.removesuffix("]}")) or other.startswith(one.removesuffix("]}"))


_REFUSED = re.compile('"(Not Found|Gone|Unprocessable Entity): /')  # Django's own lines for answers 404, 410 and 422
_VARYING = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "U"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(Z|[+]\d\d:\d\d)?", "T"),
    (r"\b(stage|renamed|made)-\d+", "C"),
    (r"\d{9,}", "N"),
    (r"\d+\.\d+", "F"),
    (r'"(duration_us|\w+_us|id)":\d+', "D"),
    # A new name is an entry of the log.
    (r'"rv":\d+', "V"),
    (r'"(from|to)":\[\d+,', "V"),
    (r'"continue":"[^"]+"', "V"),
    (r'"oldest_at":("T"|null)', "O"),
    (r'"duration_us":\{"values":[^\]]*\]', "D"),
    (r'(T,\d+,")?"+durations"+:\{[^}]*\}|T,\d+,"\{[^}]*\}"', "D"),
)


def plain(answer: object, cluster: Cluster) -> str:
    """An answer as text, without what differs from one cluster to another."""
    text = answer if isinstance(answer, str) else orjson.dumps(answer, default=str).decode()
    for pattern, short in _VARYING:
        text = re.sub(pattern, short, text)
    return re.sub(rf'("cluster(?:_id)?":|/clusters/){cluster.pk}\b', r"\1ID", text)
