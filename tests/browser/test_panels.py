"""The panels of many pods, each held against what REST answers: of the sample, and of a recorded production cluster.

Few pods of each outcome in every run; with `--long` 500 pods of the recorded cluster and every pod of the sample.
"""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kschedweb.environment import ROOT
from tests.browser.conftest import Cluster, Service, until
from tests.waiting import HANG_SECONDS

OPENB = ROOT.parent / "shared" / "data" / "openb"
FILES = ("openb_node_list_all_node.csv", "openb_pod_list_gpuspec33.csv")
IMPORT_SECONDS = 10 * HANG_SECONDS
FEW, MANY, EACH = 8, 500, 16
HISTORY = 500  # entries of a pod's history that are shown at first
READY = ("active", "backoff", "errorBackoff")  # a pod is taken out of backoff when no other is ready
RESULTS = {"scheduled": "Scheduled", "unschedulable": "No node fits"}


def rows(cluster: Cluster, path: str) -> Iterator[dict[str, Any]]:
    """All of a paged list."""
    following: str | None = f"{path}{'&' if '?' in path else '?'}limit=1000"
    while following:
        page = cluster.call("GET", following)
        yield from page["results"]
        following = page["next"] and page["next"].partition(f"/clusters/{cluster.id}/")[2]


def last_attempts(cluster: Cluster) -> list[dict[str, Any]]:
    """The newest attempt of each pod."""
    found: dict[str, dict[str, Any]] = {}
    for attempt in rows(cluster, "attempts"):
        found.setdefault(attempt["pod_uid"], attempt)
    return list(found.values())


def spread(attempts: Iterable[dict[str, Any]], count: int) -> list[str]:
    """Keys of `count` pods, in turn of each outcome: how it ended, who refused it for what, ties, preemption."""
    kinds: dict[Any, list[str]] = defaultdict(list)
    for one in attempts:
        reasons = tuple(sorted({(each["plugin"], each["reason"], each["code"]) for each in one["rejections"]}))
        tie = None if one["tied"] is None else min(one["tied"], 7)
        kind = (one["result"], tie, min(one["feasible"], 2), one["preemption"] is not None, reasons)
        kinds[kind].append(f"{one['namespace']}/{one['name']}")
    # The rare ones first.
    piles = sorted(kinds.values(), key=len)
    longest = max(map(len, piles), default=0)
    return [pile[turn] for turn in range(longest) for pile in piles if turn < len(pile)][:count]


def number(value: int, one: str, more: str) -> str:
    return f"{value:,} {one if value == 1 else more}"


def sentences(attempt: dict[str, Any], nodes: Sequence[dict[str, Any]]) -> list[str]:
    """What has to be said of an attempt, from what each node was told and scored."""
    feasible = [node for node in nodes if node["feasible"]]
    node = attempt["node_name"]
    if attempt["result"] == "scheduled":
        said = [f"Placed on {node}. Nodes evaluated: {attempt['evaluated']:,}; feasible: {attempt['feasible']:,}."]
        if attempt["tried_first"]:
            return [*said, "Tried first: "]
        if attempt["feasible"] == 1:
            return [*said, f"{node} was the only one, so no scores were needed."]
        highest = max(one["total"] for one in feasible)
        tied = [one["node"] for one in feasible if one["total"] == highest]
        assert node in tied and len(feasible) == attempt["feasible"]
        if len(tied) == 1:
            second = max(one["total"] for one in feasible if one["node"] != node)
            return [*said, f"{node} had the highest total score, {highest:,}, {highest - second:,} more than "]
        others = number(len(tied) - 1, "other node", "other nodes")
        return [*said, f"{node} and {others} had the highest total score, {highest:,}.", "drawn at random"]
    if attempt["result"] == "unschedulable":
        assert not feasible
        if not nodes:
            return ["Rejected before any node was evaluated"]
        (_, reason), count = refusals(nodes)[0]
        none = f"None of {number(len(nodes), 'node', 'nodes')} could take it."
        return [none, reason, number(count, "node", "nodes")]
    return []


def refusals(nodes: Sequence[dict[str, Any]]) -> list[tuple[tuple[str, str], int]]:
    """Nodes by plugin and reason, the most frequent first."""
    counted = Counter(
        (node["status"]["plugin"], reason) for node in nodes if node["status"] for reason in node["status"]["reasons"]
    )
    return sorted(counted.items(), key=lambda one: (-one[1], one[0]))


def effects_before_causes(entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Attempts at a pod that no entry before them has made ready, and ends of what had not begun."""
    queue: str | None = None  # until the first that is known: there may be entries before these
    node = ""
    for entry in entries:
        if entry["kind"] == "queue":
            queue = entry["what"]
        elif entry["kind"] == "attempt":
            if queue is not None and queue not in READY:
                yield entry
            queue = "tried"
        elif entry["kind"] == "cache" and entry["what"] == "assumed":
            node = entry["node"]
        elif node and entry["kind"] in ("cache", "binding") and entry["node"] != node:
            yield entry


class Reader:
    """Opens panels and compares them with the answers of REST."""

    def __init__(self, page: Page, cluster: Cluster) -> None:
        self.page, self.cluster = page, cluster
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)

    def open(self, key: str) -> Locator:
        self.page.evaluate(f"location.hash = '#/clusters/{self.cluster.id}/pods/{key}'")
        panel = self.page.get_by_role("complementary", name=f"Pod {key}", exact=True)
        panel.wait_for()
        return panel

    def check(self, key: str) -> Locator:
        """The panel, which stays open."""
        panel = self.open(key)
        expect(panel.get_by_text("Loading…").filter(visible=True)).to_have_count(0)
        expect(panel.get_by_role("alert")).to_have_count(0)
        attempts = list(rows(self.cluster, f"pods/{key}/attempts"))
        if attempts:
            self.check_attempt(panel, attempts[0])
            listed = panel.get_by_role("region", name="All attempts").locator("ol > li")
            expect(listed).to_have_count(min(len(attempts), 100))
        self.check_history(panel, key)
        assert not self.problems, (key, self.problems)
        return panel

    def check_history(self, panel: Locator, key: str) -> None:
        heading = panel.get_by_role("region", name="Queue history").get_by_role("heading")
        if not self.cluster.call("GET", f"pods/{key}/history")["entries"]:
            expect(heading).to_have_count(0)
            return

        def shown() -> list[dict[str, Any]] | None:
            """What the panel shows: a timer may have moved the pod between the two answers."""
            told = self.cluster.call("GET", f"pods/{key}/history?limit={HISTORY + 1}")
            entries: list[dict[str, Any]] = told["entries"]
            count = f"newest {HISTORY}" if len(entries) > HISTORY else f"{len(entries):,}"
            return entries if heading.inner_text() == f"Queue history · {count}" else None

        entries = until(self.page, shown) or []
        assert not list(effects_before_causes(entries)), (key, entries)

    def check_attempt(self, panel: Locator, attempt: dict[str, Any]) -> None:
        matrix = self.cluster.call("GET", f"attempts/{attempt['seq']}?limit=10000")["matrix"]
        nodes = matrix["nodes"] if matrix else []
        region = panel.get_by_role("region", name="Last attempt")
        said = region.inner_text()
        for sentence in sentences(attempt, nodes):
            assert sentence in said, (attempt["name"], sentence, said)
        if attempt["result"] in RESULTS:
            assert RESULTS[attempt["result"]] in said
        assert ("the highest total score" in said) == (attempt["tied"] is not None)
        shown = region.locator("li:has(.reason)")
        told = [(item.locator(".reason").inner_text(), item.locator(".count").inner_text()) for item in shown.all()]
        if nodes:
            counted = refusals(nodes)
            assert Counter(told) == Counter((reason, number(n, "node", "nodes")) for (_, reason), n in counted)
            counts = [int(re.sub(r"\D", "", count)) for _, count in told]
            assert counts == sorted(counts, reverse=True)
        self.check_best(region, [node for node in nodes if node["total"] is not None])

    def check_best(self, region: Locator, scored: Sequence[dict[str, Any]]) -> None:
        best = region.locator("ol > li:has(.total)")
        totals = [best.nth(place).locator(".total").inner_text() for place in range(best.count())]
        if not scored:
            return
        highest = sorted((node["total"] for node in scored), reverse=True)
        assert totals == [f"{total:,}" for total in highest[: len(totals)]]
        tied = highest.count(highest[0])
        assert best.get_by_text("tied", exact=True).count() == (min(tied, len(totals)) if tied > 1 else 0)


@pytest.fixture(scope="module")
def openb(service: Service, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> int:
    """The id of a cluster with the recorded nodes and pods (one in EACH of both in a short run), each pod tried."""
    paths = [OPENB / name for name in FILES]
    if not all(path.exists() for path in paths):
        pytest.skip("the recorded cluster is not at hand: ../shared/data/openb is missing")
    if not request.config.getoption("--long"):
        folder = tmp_path_factory.mktemp("openb")
        paths = [part(path, folder / path.name) for path in paths]
    words = [sys.executable, "-m", "kschedweb.ops.cli", "import", *map(str, paths), "--cluster", "openb", "--wait"]
    done = subprocess.run(
        [*words, "--data-dir", str(service.data)], cwd=ROOT, capture_output=True, text=True, timeout=IMPORT_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"cluster openb \(id (\d+)\)", done.stdout)
    assert found is not None
    return int(found[1])


def part(path: Path, made: Path) -> Path:
    """A file with the head line and one in EACH of the lines after it."""
    head, *lines = path.read_text().splitlines(keepends=True)
    made.write_text("".join([head, *lines[::EACH]]))
    return made


@pytest.fixture
def count(request: pytest.FixtureRequest) -> int:
    """How many pods are looked at."""
    return MANY if request.config.getoption("--long") else FEW


def test_panels_of_a_recorded_cluster_say_what_rest_answers(
    page: Page, cluster: Cluster, openb: int, count: int
) -> None:
    recorded = Cluster(page, cluster.url, openb)
    page.goto(f"{cluster.url}/#/clusters/{openb}")
    page.get_by_role("heading", name="Scheduling queue").wait_for()
    reader = Reader(page, recorded)
    attempts = last_attempts(recorded)
    assert {one["result"] for one in attempts} >= {"scheduled", "unschedulable"}
    chosen = spread(attempts, count)
    assert len(chosen) == count
    for key in chosen:
        reader.check(key)


def test_panels_of_the_sample_say_what_rest_answers(page: Page, cluster: Cluster, count: int) -> None:
    cluster.call("POST", "pace", {"pace": "pause"})  # none is tried again meanwhile
    keys = [pod["key"] for pod in cluster.call("GET", "snapshot")["pods"]]
    tried = spread(last_attempts(cluster), len(keys))
    reader = Reader(page, cluster)
    ordered = sorted(keys, key=lambda key: tried.index(key) if key in tried else -1)
    for key in ordered if count == MANY else ordered[:FEW]:
        reader.check(key)
