"""At any position the past is what a page showed then: frames as the socket sends them, applied to a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson
import pytest

from kschedweb.asgi import Logs
from kschedweb.cluster import services as cluster_services
from kschedweb.scheduling import leases
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.views import Cursor, Frame, encode
from tests.web import rest
from tests.web.scheduling import lived as living

pytestmark = pytest.mark.usefixtures("nothing_kept")

ROUNDS, LONG_ROUNDS = 4, 90
POSITIONS, LONG_POSITIONS = 12, 200
ENTRIES = 100_000  # more than a step makes
Rows = dict[str, Any]
Shown = tuple[Rows, Rows, Rows]


class Page:
    """What a page shows of a cluster, kept up by frames: nodes by name, pods and the queue by uid."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.cursor = Cursor(*snapshot["cursor"])
        self.nodes, self.pods, self.queue = shown_in(snapshot)

    def apply(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            match event["type"]:
                case "node_put":
                    self.nodes[event["node"]["name"]] = event["node"]
                case "node_deleted":
                    del self.nodes[event["name"]]
                case "pod_put":
                    self.pods[event["pod"]["uid"]] = event["pod"]
                case "pod_deleted":
                    self.pods.pop(event["uid"], None)
                case "queue_move":
                    self.move(event["move"])
                case "cache_move":
                    self.cached(event)

    def move(self, view: dict[str, Any]) -> None:
        if view["queue"]:
            self.queue[view["uid"]] = view | {"hint": ""}  # told live and not kept
        else:
            self.queue.pop(view["uid"], None)

    def cached(self, event: dict[str, Any]) -> None:
        """A pod that is assumed, or waits for Permit, stands beside the queues until it is confirmed or forgotten."""
        uid, kind = event["uid"], event["kind"]
        if kind in ("assumed", "waiting"):
            told = {"event": kind, "since_ms": event["at_ms"], "attempts": event["attempts"], "node": event["node"]}
            plain = {"backoff_until_ms": None, "plugins": [], "hint": ""}
            self.queue[uid] = {"uid": uid, "key": event["key"], "queue": kind, **told, **plain}
        elif self.queue.get(uid, {}).get("queue") in ("assumed", "waiting"):
            del self.queue[uid]

    def shown(self) -> Shown:
        return dict(self.nodes), dict(self.pods), dict(self.queue)


def shown_in(snapshot: dict[str, Any]) -> Shown:
    nodes = {node["name"]: node for node in snapshot["nodes"]}
    pods = {pod["uid"]: pod for pod in snapshot["pods"]}
    return nodes, pods, {view["uid"]: view for view in snapshot["queue"]}


@dataclass
class Watched(living.Lived):
    """What a page showed after each step, by position; it reads a new snapshot where a new engine began."""

    page: Page | None = None
    shown: dict[str, Shown] = field(default_factory=dict)
    frames: int = 0

    def note(self, host: EngineHost) -> None:
        if self.page is None:
            self.page = Page(self.snapshot())
        part = Logs().read(self.cluster.pk, self.page.cursor, ENTRIES)
        sent = encode(Frame(from_=self.page.cursor, to=part.to, at=0, events=part.events))
        events = orjson.loads(sent)["events"]
        if any(event["type"] == "step" and event["kind"] != "apply" for event in events):
            self.page = Page(self.snapshot())
        else:
            self.page.apply(events)
            self.page.cursor = part.to
            self.frames += bool(events)
        self.shown[f"{self.page.cursor.rv}.{self.page.cursor.seq}"] = self.page.shown()

    def snapshot(self, query: str = "") -> Any:
        return rest.get(self.cluster, f"snapshot{query}")


@pytest.fixture(scope="module")
def watched(committed: None, request: pytest.FixtureRequest) -> Iterator[Watched]:
    rounds = LONG_ROUNDS if request.config.getoption("--long") else ROUNDS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
        patch.setattr(living, "Lived", Watched)
        patch.setattr(living, "bind_untold", lambda *_: None)  # what no log tells of no page is told
        found = living.live(cluster_services.cluster_create(name="watched", seed=1), rounds=rounds)
        assert isinstance(found, Watched)
        yield found


def test_past_is_what_a_page_showed_then(watched: Watched, request: pytest.FixtureRequest) -> None:
    count = LONG_POSITIONS if request.config.getoption("--long") else POSITIONS
    assert len(watched.shown) >= count and watched.frames > len(watched.shown) // 2
    queues: set[str] = set()
    for at in Random(7).sample(list(watched.shown), count):
        nodes, pods, queue = shown_in(watched.snapshot(f"?at={at}"))
        then = watched.shown[at]
        assert nodes == then[0], at
        assert pods == then[1], at
        assert queue == then[2], at
        queues |= {view["queue"] for view in queue.values()}
    assert {"unschedulable", "assumed"} <= queues
