"""Measures the dashboard of a large cluster in a real browser: its first view, then while pods come and go.

The first view is that of a browser that has nothing yet. While pods come and go the page is looked at for a minute at a
time; in between garbage is collected, to see what is left, and nothing of that counts as a frame. The browser draws
without a graphics processor, on the processors that the service has.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import psycopg

from tools.bench import arriving, level3, objects
from tools.bench.dashboard import Dashboard, FirstView, Held, Watched, chromium
from tools.bench.engine.result import percentile
from tools.bench.promises import Promise
from tools.bench.running import RunningService

NODES, PODS, RATE = 5_000, 30_000, 500.0
VIEWS = 3
LOOK_SECONDS, LEAST_LOOKS = 60.0, 6
WARM_SECONDS = 2 * arriving.LIVES_SECONDS  # until as many pods go as come
VIEW_SECONDS, VIEW_BYTES = 1.5, 1_500_000
TASK_MS = 50.0  # what a browser calls a long task
FRAME_MS = 16.7  # of a screen that draws 60 frames a second
MOST_GROWTH = 0.05
MOST_SECONDS = 900.0
FUNCTIONS = 10

_PODS = "SELECT count(*) FROM cluster_pod WHERE cluster_id = %s"
_RV = "SELECT rv FROM cluster_cluster WHERE id = %s"
_BOUND = (
    "SELECT count(*) FROM cluster_change"
    " WHERE cluster_id = %s AND rv > %s AND kind = 'Binding' AND operation = 'verdict'"
)


@dataclass(slots=True)
class _Streamed:
    """What was seen while pods came and went; `held` and `pods` have one entry more than there were looks."""

    seconds: float = 0.0
    frames_ms: list[float] = field(default_factory=list)
    tasks_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)  # of each task
    busy_seconds: dict[str, float] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    pods: list[int] = field(default_factory=list)
    sent_per_second: float = 0.0
    bound_per_second: float = 0.0
    cpu_shares: dict[str, float] = field(default_factory=dict)  # of one core, by process

    def add(self, seconds: float, watched: Watched) -> None:
        self.seconds += seconds
        self.frames_ms += watched.frames_ms
        self.tasks_ms += watched.tasks_ms
        self.cpu_ms += watched.cpu_ms
        for work, spent in watched.busy_seconds.items():
            self.busy_seconds[work] = self.busy_seconds.get(work, 0.0) + spent


def measure(
    service: RunningService,
    seconds: float,
    *,
    nodes: int = NODES,
    pods: int = PODS,
    rate: float = RATE,
    profile: bool = False,
) -> Iterator[Promise]:
    """The promises of the browser, each when it is measured; with `profile` the functions that took most time first."""
    name = f"browser-{time.time_ns() // 1_000_000}"
    with psycopg.connect(service.database_url, autocommit=True) as database, chromium(service) as visitors:
        cluster_id = level3.cluster_new(service, name)
        level3.load(service, cluster_id, [*arriving.namespaces(), *(objects.node(number) for number in range(nodes))])
        level3.load(service, cluster_id, [objects.running_pod(number, nodes) for number in range(pods)])
        level3.settled(database, cluster_id, stalled_seconds=MOST_SECONDS)
        address = f"http://127.0.0.1:{service.port}/#/clusters/{cluster_id}"
        views: list[FirstView] = []
        for _ in range(VIEWS):
            with visitors.dashboard() as dashboard:
                views.append(dashboard.open(address))
        yield _viewed(nodes, pods, views)
        with visitors.dashboard() as dashboard:
            dashboard.open(address)
            functions: dict[str, float] = {}
            with arriving.Arriving(service, name, cluster_id, rate) as coming:
                look = _Looking(service, database, cluster_id, dashboard, coming)
                if profile:
                    with dashboard.profiled(functions):
                        streamed = look.on(seconds)
                else:
                    streamed = look.on(seconds)
        if profile:
            print(most_time(functions), flush=True)
        yield _drawn(streamed, rate)
        yield _grown(streamed)


@dataclass(frozen=True, slots=True)
class _Looking:
    """Somebody who looks at the page while pods come and go."""

    service: RunningService
    database: psycopg.Connection[Any]
    cluster_id: int
    dashboard: Dashboard
    coming: arriving.Arriving

    def on(self, seconds: float) -> _Streamed:
        """Look on for so long, once as many pods go as come."""
        found = _Streamed()
        self.dashboard.watch(WARM_SECONDS)
        self._note(found)
        rv, started, cpu, sent = self._asked(_RV), time.monotonic(), self._cpu_seconds(), self.coming.sent
        looks = max(LEAST_LOOKS, math.ceil(seconds / LOOK_SECONDS))
        for _ in range(looks):
            found.add(seconds / looks, self.dashboard.watch(seconds / looks))
            self._note(found)
        passed = time.monotonic() - started
        found.sent_per_second = (self.coming.sent - sent) / passed
        found.bound_per_second = self._asked(_BOUND, rv) / passed
        found.cpu_shares = {name: (after - cpu[name]) / passed for name, after in self._cpu_seconds().items()}
        return found

    def _note(self, found: _Streamed) -> None:
        self.coming.check()
        found.held.append(self.dashboard.held())
        found.pods.append(self._asked(_PODS))

    def _cpu_seconds(self) -> dict[str, float]:
        return {"browser": self.dashboard.cpu_seconds(), **self.service.cpu_seconds()}

    def _asked(self, query: str, *more: object) -> int:
        row = self.database.execute(query, [self.cluster_id, *more]).fetchone()
        assert row is not None
        return int(row[0])


def _viewed(nodes: int, pods: int, views: Sequence[FirstView]) -> Promise:
    shown, size = median(view.shown_ms for view in views) / 1000, max(view.transferred for view in views)
    longest = max(view.longest_task_ms for view in views)
    each = ", ".join(f"{view.shown_ms / 1000:.2f}" for view in views)
    text = (
        f"{nodes:,} nodes and {pods:,} pods: drawn after {each} s, target under {VIEW_SECONDS:.1f} in the middle;"
        f" {size:,} bytes, target under {VIEW_BYTES:,}; the longest task of it {longest:.0f} ms"
    )
    values = {"seconds": shown, "bytes": float(size), "longest_task_ms": longest}
    return Promise("browser first view", text, values, shown < VIEW_SECONDS and size < VIEW_BYTES)


def _drawn(streamed: _Streamed, rate: float) -> Promise:
    frames = sorted(streamed.frames_ms)
    p50, p95, p99 = (percentile(frames, share) for share in (50, 95, 99))
    longest, longest_cpu = max(streamed.tasks_ms, default=0.0), max(streamed.cpu_ms, default=0.0)
    many_cpu = sum(spent > TASK_MS for spent in streamed.cpu_ms)
    busy = {work: spent / streamed.seconds for work, spent in streamed.busy_seconds.items()}
    works = ", ".join(f"{work} {share:.0%}" for work, share in busy.items() if work != "all")
    processes = ", ".join(f"{name} {share:.0%}" for name, share in streamed.cpu_shares.items() if share >= 0.005)
    text = (
        f"{streamed.sent_per_second:.0f} pods/s of {rate:.0f} came and {streamed.bound_per_second:.0f} were bound for"
        f" {streamed.seconds:.0f} s: between two frames"
        f" p50 {p50:.1f} ms, p95 {p95:.1f} ms, target {FRAME_MS}, p99 {p99:.1f} ms, {len(frames)} frames;"
        f" {len(streamed.tasks_ms)} tasks over {TASK_MS:.0f} ms, target none, the longest {longest:.0f} ms; by CPU time"
        f" {many_cpu}, the longest {longest_cpu:.0f} ms; the main thread uses {busy['all']:.0%} of a core ({works}); of"
        f" one core {processes}"
    )
    values = {
        "sent_per_second": streamed.sent_per_second,
        "bound_per_second": streamed.bound_per_second,
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "long_tasks": float(len(streamed.tasks_ms)),
        "longest_task_ms": longest,
        "long_tasks_by_cpu": float(many_cpu),
        "longest_task_cpu_ms": longest_cpu,
        **{f"main_thread_{work}": share for work, share in busy.items()},
        **{f"share_of_{name}": share for name, share in streamed.cpu_shares.items()},
    }
    return Promise("browser frames", text, values, round(p95, 1) <= FRAME_MS and not streamed.tasks_ms)


def _grown(streamed: _Streamed) -> Promise:
    heap, elements = [held.heap_mb for held in streamed.held], [held.elements for held in streamed.held]
    # What stands before the first look is that of a page which has shown little so far.
    heap_growth, element_growth = growth(heap[1:]), growth(elements[1:])
    text = (
        f"in {streamed.seconds:.0f} s the page's heap went {_course(heap, '.1f')} MB ({heap_growth:+.1%}) and its nodes"
        f" {_course(elements, ',')} ({element_growth:+.1%}), target at most {MOST_GROWTH:+.0%} each, with"
        f" {min(streamed.pods):,} to {max(streamed.pods):,} pods in the cluster"
    )
    values = {"heap_mb": heap[-1], "heap_growth": heap_growth, "elements": float(elements[-1]),
              "element_growth": element_growth}  # fmt: skip
    return Promise("browser growth", text, values, max(heap_growth, element_growth) <= MOST_GROWTH)


def growth(course: Sequence[float]) -> float:
    """How much the least of the last third is more than the least of the first.

    What a page holds goes up and down with what it shows, such as rows of pods that wait; what has piled up lies below.
    """
    part = -(-len(course) // 3)
    before = min(course[:part])
    return min(course[-part:]) / before - 1 if before else 0.0


def _course(values: Sequence[float], form: str) -> str:
    return " → ".join(format(value, form) for value in values)


def most_time(functions: dict[str, float]) -> str:
    """The functions that took most time by themselves, a line each, as shares of all the time."""
    whole = sum(functions.values()) or 1.0
    most = sorted(functions.items(), key=lambda item: -item[1])[:FUNCTIONS]
    return "\n".join(f"{seconds / whole:7.2%}  {name}" for name, seconds in most)
