"""The dashboard in Chromium, as it is measured: what was transferred, when frames were drawn, what the page holds.

A script that runs before the page's own notes the time of each animation frame and of each task that blocked the main
thread for more than 50 ms. Everything else is asked of the browser over its debugging protocol. Tasks are also traced
for their CPU time: where other programs have the processors, most of the time of a long one may be theirs.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Error, Page, StorageState, sync_playwright

from tools.bench.running import RunningService, ServiceProblem
from tools.testing.outcome import CannotRunError
from tools.testing.pytests import find_chromium

# As in tests/browser; there is no graphics processor to be had.
ARGUMENTS = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"]
WIDTH, HEIGHT = 1440, 1000
MOST_MS = 120_000.0
SETTLE_MS = 300.0  # until what a forced collection did to frames and tasks is noted
SAMPLING_US = 1_000
TASKS_CATEGORY, TASK, MAIN_THREAD = "toplevel", "ThreadControllerImpl::RunTask", "CrRendererMain"  # as Chromium says it
# What the browser counts, and how it is called here; "all" has the others in it.
WORK = {
    "TaskDuration": "all",
    "ScriptDuration": "scripts",
    "LayoutDuration": "layout",
    "RecalcStyleDuration": "styles",
}
_LOGIN_LINK = re.compile(r"open (http\S+)\s+\(logs you in")
# The grid of nodes has its height once it was painted with nodes in it.
_NOTES = """
(() => {
  const notes = { frames: [], tasks: [], shown: null };
  const isShown = () =>
    [...document.querySelectorAll('[role="img"] > canvas')].some(({ style }) => Number.parseFloat(style.height) > 99);
  let last = null;
  const look = (now) => {
    if (last !== null) notes.frames.push(now - last);
    last = now;
    if (notes.shown === null && isShown()) notes.shown = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) notes.tasks.push(duration);
  }).observe({ type: "longtask", buffered: true });
  window.ksbench = {
    shown: () => notes.shown,
    take: () => ({ frames: notes.frames.splice(0), tasks: notes.tasks.splice(0) }),
  };
})();
"""


@dataclass(frozen=True, slots=True)
class FirstView:
    """From the start of the navigation until the nodes were painted; bytes as they were sent, frames included."""

    shown_ms: float
    transferred: int
    longest_task_ms: float


@dataclass(frozen=True, slots=True)
class Watched:
    """What happened on the main thread meanwhile.

    Times between frames, tasks that blocked it, the CPU time of each task, and all CPU time by kind of work.
    """

    frames_ms: list[float]
    tasks_ms: list[float]
    cpu_ms: list[float]
    busy_seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class Held:
    """What the page holds after a collection of garbage."""

    heap_mb: float
    elements: int


class Dashboard:
    """One page that shows a cluster."""

    def __init__(self, context: BrowserContext, browser: Browser) -> None:
        self._page: Page = context.new_page()
        self._wire: CDPSession = context.new_cdp_session(self._page)
        self._browser = browser
        self._processes: CDPSession = browser.new_browser_cdp_session()
        self._page.add_init_script(_NOTES)

    def open(self, address: str) -> FirstView:
        """Show the cluster at that address, for the first time."""
        received: Counter[str] = Counter()

        def add(kind: str, size: float) -> None:
            received[kind] += int(size)

        self._wire.on("Network.loadingFinished", lambda event: add("http", event["encodedDataLength"]))
        # Compressed frames come as base64 here: four characters for three bytes, so this is no less than was sent.
        self._wire.on(
            "Network.webSocketFrameReceived", lambda event: add("frames", len(event["response"]["payloadData"]))
        )
        self._wire.send("Network.enable")
        self._page.goto(address)
        self._page.wait_for_function("() => ksbench.shown() !== null", timeout=MOST_MS)
        self._page.wait_for_load_state("networkidle")
        self._wire.send("Network.disable")
        shown, tasks = float(self._page.evaluate("ksbench.shown()")), self._notes()["tasks"]
        return FirstView(shown, received.total(), max(tasks, default=0.0))

    def watch(self, seconds: float) -> Watched:
        """Look on for so long."""
        self._wire.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._browser.start_tracing(page=self._page, categories=[TASKS_CATEGORY])
        self._notes()
        before = self._busy()
        self._page.wait_for_timeout(seconds * 1000)
        after, notes = self._busy(), self._notes()
        cpu_ms = task_cpu_ms(self._browser.stop_tracing())
        self._wire.send("Performance.disable")
        busy = {work: spent - before[work] for work, spent in after.items()}
        return Watched(notes["frames"], notes["tasks"], cpu_ms, busy)

    def held(self) -> Held:
        """Collect garbage and look what is left."""
        self._wire.send("HeapProfiler.collectGarbage")
        heap = self._wire.send("Runtime.getHeapUsage")
        counters = self._wire.send("Memory.getDOMCounters")
        self._page.wait_for_timeout(SETTLE_MS)
        return Held(heap["usedSize"] / 1e6, int(counters["nodes"]))

    def cpu_seconds(self) -> float:
        """CPU time so far of all processes of the browser."""
        found = self._processes.send("SystemInfo.getProcessInfo")
        return float(sum(process["cpuTime"] for process in found["processInfo"]))

    @contextmanager
    def profiled(self, into: dict[str, float]) -> Iterator[None]:
        """Find out how many seconds each function takes by itself meanwhile."""
        self._wire.send("Profiler.enable")
        self._wire.send("Profiler.setSamplingInterval", {"interval": SAMPLING_US})
        self._wire.send("Profiler.start")
        yield
        into.update(self_seconds(self._wire.send("Profiler.stop")["profile"]))
        self._wire.send("Profiler.disable")

    def _notes(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = self._page.evaluate("ksbench.take()")
        return found

    def _busy(self) -> dict[str, float]:
        metrics = self._wire.send("Performance.getMetrics")["metrics"]
        return {WORK[each["name"]]: float(each["value"]) for each in metrics if each["name"] in WORK}


def task_cpu_ms(trace: bytes) -> list[float]:
    """The CPU time of each task on the main thread of the page: of those threads the busiest."""
    events = json.loads(trace)["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == MAIN_THREAD
    }
    found: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for event in events:
        thread = (event["pid"], event["tid"])
        if event["name"] == TASK and event["ph"] == "X" and thread in mains:
            found[thread].append(event.get("tdur", 0) / 1000)
    return max(found.values(), key=sum, default=[])


def self_seconds(profile: dict[str, Any]) -> dict[str, float]:
    """Seconds by function of a CPU profile, without what its callees took."""
    functions = {node["id"]: _told(node["callFrame"]) for node in profile["nodes"]}
    found: defaultdict[str, float] = defaultdict(float)
    for node, lasted in zip(profile["samples"], profile["timeDeltas"], strict=True):
        found[functions[node]] += lasted / 1e6
    return dict(found)


def _told(frame: dict[str, Any]) -> str:
    file = frame["url"].rpartition("/")[2]
    place = f" {file}:{frame['lineNumber'] + 1}:{frame['columnNumber'] + 1}" if file else ""
    return f"{frame['functionName'] or '(anonymous)'}{place}"


@contextmanager
def chromium(service: RunningService) -> Iterator[Visitors]:
    """A browser whose user is logged in."""
    found = _LOGIN_LINK.search(service.output)
    if found is None:
        raise ServiceProblem("the service told no link to log in with")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
            with browser.new_context() as context:
                page = context.new_page()
                page.goto(found[1])
                page.wait_for_load_state("networkidle")
                session = context.storage_state()
            yield Visitors(browser, session)
            browser.close()
    except (CannotRunError, Error) as problem:
        raise ServiceProblem(f"the browser: {problem}") from problem


class Visitors:
    """Opens the dashboard as somebody who has nothing of it yet."""

    def __init__(self, browser: Browser, session: StorageState) -> None:
        self._browser, self._session = browser, session

    @contextmanager
    def dashboard(self) -> Iterator[Dashboard]:
        with self._browser.new_context(
            storage_state=self._session, viewport={"width": WIDTH, "height": HEIGHT}
        ) as context:
            yield Dashboard(context, self._browser)
