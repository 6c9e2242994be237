"""The workers that read a cluster, called as their messages call them."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import imports
from kschedweb.cluster.tasks import import_execute
from kschedweb.lifecycle import runner as lifecycle
from kschedweb.lifecycle.tasks import tick
from kschedweb.scheduling import checkpoints, retention, tasks
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.past import proving
from kschedweb.scheduling.runner import slices
from kschedweb.scheduling.runner.slices import Worker
from kschedweb.scheduling.runner.sweep import sweep
from tests.builders import make_pod, scheduler_config
from tests.web.gone.stage import BIG, NODE, Reader, Stage, pod
from tests.web.scheduling.conftest import lead


def _worker(stage: Stage) -> Worker:
    worker = Worker("one", Elector("one/1", LeaseTimes(), wake=lambda _: None))
    stage.monkeypatch.setattr(slices, "_worker", worker)
    return worker


def first_slice(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"), BIG)
    _worker(stage)
    return lambda: tasks.ensure_leader(stage.pk)


def next_slice(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"))
    _worker(stage)
    tasks.ensure_leader(stage.pk)
    stage.put(pod("b"), BIG)
    checkpoints.checkpoint_want(cluster_id=stage.pk)
    return lambda: tasks.slice_run(stage.pk)


def configured_slice(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"))
    _worker(stage)
    tasks.ensure_leader(stage.pk)
    content = scheduler_config(parallelism=4).encode()
    cluster_services.scheduler_config_set(cluster_id=stage.pk, content=content, actor="t")
    return lambda: tasks.slice_run(stage.pk)


def electing(stage: Stage) -> Callable[[], object]:
    worker = _worker(stage)
    worker.elector.tick()
    other = Elector("two/1", LeaseTimes(), wake=lambda _: None)

    def elect() -> None:
        worker.elector.tick()
        other.tick()

    return elect


def binding(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"), pod("b"))
    lead(stage.cluster).step()
    return lambda: tasks.bindings_run(stage.pk)


def evicting(stage: Stage) -> Callable[[], object]:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    high = make_pod("high").req(cpu="2").manifest()
    high["spec"]["priorityClassName"] = "urgent"
    stage.put(NODE, urgent, make_pod("low").req(cpu="2").on("n1").manifest())
    stage.put(high)
    lead(stage.cluster).step()
    return lambda: tasks.bindings_evict(stage.pk)


def sweeping(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"))
    lead(stage.cluster).step()
    return lambda: [found for found in sweep() if found[1]]  # what concerns no cluster has a pace of its own


def pruning(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"))
    host = lead(stage.cluster)
    host.step()
    checkpoints.checkpoint_want(cluster_id=stage.pk)
    host.step()
    stage.monkeypatch.setattr(retention, "LEAST_AGE", retention.timedelta(0))
    stage.monkeypatch.setattr(retention, "MANY_ORDERS", -1)
    Cluster.objects.filter(pk=stage.pk).update(retention_hours=1, clock_offset_us=2 * 3_600_000_000)
    return tasks.prune


def proving_history(stage: Stage) -> Callable[[], object]:
    stage.put(NODE, pod("a"), BIG)
    lead(stage.cluster).step()
    proving.forget()
    return lambda: bool(proving.prove(cluster_id=stage.pk))


def first_tick(stage: Stage) -> Callable[[], object]:
    stage.monkeypatch.setattr(lifecycle, "_hosts", {})
    cluster_services.lifecycle_mode_set(cluster_id=stage.pk, lifecycle_mode="simulate", actor="t")
    stage.put(NODE, make_pod("a").req(cpu="1").on("n1").manifest())
    return lambda: tick(stage.pk)


def next_tick(stage: Stage) -> Callable[[], object]:
    ticks = first_tick(stage)
    ticks()
    cluster_services.clock_set(cluster_id=stage.pk, mode="fast", actor="t")
    stage.put(make_pod("b").req(cpu="1").on("n1").manifest())
    lead(stage.cluster).step()
    ticks()
    lead(stage.cluster).step()
    stage.monkeypatch.setattr(lifecycle, "_acted_at", {})
    return lambda: tick(stage.pk)


def importing(stage: Stage) -> Callable[[], object]:
    content = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, pod("a")]})
    row = imports.Import.objects.create(
        cluster=stage.cluster, options={"lifecycle_mode": "simulate"}, filename="a.json", files=["a.json"], actor="t"
    )
    imports.ImportPiece.objects.create(cluster=stage.cluster, of_import=row, file=0, content=content)
    return lambda: import_execute(str(row.pk))


WORKERS = [
    Reader("slice that builds an engine", first_slice),
    Reader("slice with changes and a checkpoint", next_slice),
    Reader("slice with a new configuration", configured_slice),
    Reader("elector", electing),
    Reader("binding worker", binding),
    Reader("eviction worker", evicting),
    Reader("sweep", sweeping),
    Reader("retention", pruning),
    Reader("proof of the history", proving_history),
    Reader("controllers that begin", first_tick),
    Reader("controllers that go on, with a clock that goes by steps", next_tick),
    Reader("import", importing),
]
