"""A cluster that was really scheduled: preemptions, nodes that change and go, refused bindings, configurations,
engines lost between decision and binding, other leaders. What its engine was after each step is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.scheduling import retention
from kschedweb.scheduling.checkpoints import checkpoint_want
from kschedweb.scheduling.past import moments
from kschedweb.scheduling.past.moments import Position, moment
from kschedweb.scheduling.past.replaying import Replay, replay_of
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import Checkpoint, EngineStep
from scheduler_core.scheduler import checkpoint
from tests.builders import NodeBuilder, PodBuilder, make_manifest, make_node, make_pod, scheduler_config
from tests.web.scheduling.conftest import bind_untold, lead, put

CONFIGURATIONS = (
    scheduler_config(percentageOfNodesToScore=40),
    scheduler_config(profiles=[{"plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}}}]),
)


NODES = 80
ZONES = ("east", "west", "north")


def nodes() -> list[NodeBuilder]:
    """In three zones, of five sizes, every second with a fast disk; some keep pods away."""
    made = []
    for number in range(NODES):
        node = make_node(f"n{number:03}").zone(ZONES[number % 3]).label(disk=("ssd", "hdd")[number % 2])
        node.capacity(cpu=str(4 + number % 5 * 3), memory="32Gi", pods="40")
        if number % 7 == 0:
            node.taint("dedicated", "gpu")
        if number % 11 == 0:
            node.taint("slow", effect="PreferNoSchedule")
        made.append(node)
    return made


def pods(first: int, count: int) -> list[PodBuilder]:
    """Of many kinds: plain, choosy, spread, apart from each other, tolerant, too large, and important."""
    made = []
    for number in range(first, first + count):
        pod = make_pod(f"p{number:04}").req(cpu=f"{100 + number % 9 * 150}m", memory="256Mi")
        match number % 10:
            case 1:
                pod.node_selector(disk="ssd")
            case 2:
                pod.label(app="web").spread("topology.kubernetes.io/zone", {"app": "web"})
            case 3:
                pod.label(app="db").pod_affinity("kubernetes.io/hostname", {"app": "db"}, anti=True)
            case 4:
                pod.toleration("dedicated", operator="Exists")
            case 5:
                pod.req(cpu="30")
            case 6 if number % 20 == 6:
                pod.spec(priorityClassName="high").req(cpu="9")
            case _:
                pass
        made.append(pod)
    return made


@dataclass
class Lived:
    """The cluster, and what its engine was: states by (run, step), in order, with the positions they stand at."""

    cluster: Cluster
    states: dict[tuple[int, int], bytes] = field(default_factory=dict)
    places: list[tuple[Position, tuple[int, int]]] = field(default_factory=list)

    def note(self, host: EngineHost) -> None:
        if host._engine is not None and (host._run, host._step) not in self.states:
            place = host._run, host._step
            self.states[place] = checkpoint.dump(host._engine)
            self.places.append((Position(host._rv_seen, host._seq), place))


def live(cluster: Cluster, *, rounds: int = 8, each: int = 15, seed: int = 3, config: bool = True) -> Lived:
    """Let `rounds` pass, each with its pods and something that happens."""
    draws, lived = Random(seed), Lived(cluster)
    host = lead(cluster)

    def step() -> Any:
        outcome = host.step()
        lived.note(host)
        return outcome

    def lose_engine() -> None:
        step()
        host._engine = None  # as after a step that did not commit: what it decided is still to be bound

    def change_leader() -> None:
        nonlocal host
        step()
        host = lead(cluster)

    def refuse_binding() -> None:
        step()
        waiting = Pod.objects.filter(cluster=cluster, node_name="", phase="Pending").order_by("id")
        for pod in waiting[:2]:
            bind_untold(cluster, pod.name, "elsewhere")

    def lose_node() -> None:
        name = f"n{draws.randrange(80):03}"
        put(cluster, make_node(name).capacity(cpu="2", memory="4Gi", pods="9").unschedulable())

    def configure() -> None:
        if config:
            content = draws.choice(CONFIGURATIONS).encode()
            cluster_services.scheduler_config_set(cluster_id=cluster.pk, content=content, actor="test")

    def write_down() -> None:
        step()
        checkpoint_want(cluster_id=cluster.pk)

    happenings: list[Callable[[], None]] = [
        lose_engine, write_down, change_leader, lose_node, configure, refuse_binding, write_down, lose_engine,
    ]  # fmt: skip
    step()
    put(cluster, make_manifest("PriorityClass", "high", value=100), *nodes())
    for number in range(rounds):
        put(cluster, *pods(number * each, each))
        happenings[number % len(happenings)]()
        for _ in range(100):
            outcome = step()
            work = bindings.bindings_run(cluster.pk) + bindings.evictions_run(cluster.pk)
            if not work and not outcome.changes and (outcome.due_in is None or outcome.due_in > 0):
                break
        put(cluster, make_node(f"late{number}").capacity(cpu="6", memory="32Gi", pods="40"))
    step()
    return lived


def replayed(cluster: Cluster, **span: Any) -> Replay:
    replay = replay_of(cluster.pk, **span)
    replay.go()
    return replay


def cycles(cluster: Cluster) -> int:
    return sum(EngineStep.objects.filter(cluster=cluster).values_list("cycles", flat=True))


def cut_at(row: Checkpoint) -> None:
    """Clear away what lies before a checkpoint."""
    retention._clear(row.cluster_id, retention.Cut(row.seq, row.rv, row.at, row.run, row.step), retention.PruneReport())
    moments.forget()


@contextmanager
def of_an_earlier_release(cluster: Cluster, *, but_run: int = 0) -> Iterator[None]:
    """What began the runs is not written down meanwhile, but for one."""
    steps = EngineStep.objects.filter(cluster=cluster)
    began = dict(steps.values_list("pk", "began_from"))
    steps.exclude(run=but_run).update(began_from=None)
    yield
    for pk, began_from in began.items():
        steps.filter(pk=pk).update(began_from=began_from)


def plain(state: bytes) -> dict[str, Any]:
    """What a checkpoint says."""
    found: dict[str, Any] = msgspec.msgpack.decode(state)
    return found


def asked(lived: Lived, position: Position, place: tuple[int, int]) -> None:
    with moment(cluster_id=lived.cluster.pk, position=position) as found:
        assert (found.run, found.step) == place
        assert found.scheduler is not None
        assert plain(checkpoint.dump(found.scheduler)) == plain(lived.states[place])
