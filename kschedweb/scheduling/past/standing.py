"""How a cluster stands: now, as its tables say, or at a position of its logs, made again. Views read either alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec
import orjson
from django.db.models import QuerySet

from kschedweb import views
from kschedweb.cluster import adapters, clock, events, in_vain, objects, selectors
from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import Node, Pod
from kschedweb.cluster.related import Related, Stored
from kschedweb.common import bulk
from kschedweb.common.reading import Tables
from kschedweb.scheduling import selectors as scheduling_selectors
from kschedweb.scheduling.past import rows
from kschedweb.scheduling.past.lists import ListThen, pods_then
from kschedweb.scheduling.past.moments import Moment, ObjectsThen
from kschedweb.traces import selectors as trace_selectors
from kschedweb.traces.models import Attempt
from kschedweb.traces.selectors import live
from kschedweb.traces.selectors.history import with_names
from scheduler_core.api.times import microseconds, moment_of

Manifest = dict[str, Any]


class Standing(Protocol):
    """A cluster at one moment. What is not there then is a NotFoundError."""

    @property
    def cursor(self) -> views.Cursor: ...

    @property
    def now(self) -> int:
        """The time, in microseconds."""

    @property
    def related(self) -> Related: ...

    @property
    def is_frozen(self) -> bool:
        """Whether no controller acts."""

    def pod(self, namespace: str, name: str) -> Pod: ...

    def node(self, name: str) -> Node: ...

    def object(self, kind: str, namespace: str, name: str) -> views.ClusterObject: ...

    def objects(self, kind: str, namespace: str | None, after: tuple[str, str], limit: int) -> list[objects.Kept]:
        """Those of a kind after one of them, by namespace and name."""

    def node_pods(self, name: str) -> Sequence[views.PodView]:
        """The pods that count on a node, by name."""

    def queue_of(self, pod: Pod) -> views.QueueView | None: ...

    def pod_uid(self, namespace: str, name: str) -> str | None:
        """Of the pod that has this name, or of the last one that was tried under it."""

    def pod_attempts(self, namespace: str, name: str, number: int | None) -> QuerySet[Attempt]:
        """The attempts at the pod that has this name, or at all that had it; those of a number."""

    def attempts_as_told(self, found: Sequence[Attempt]) -> Sequence[Attempt]:
        """The same, as often as they had been repeated."""

    def pod_history(self, uid: str, limit: int) -> Sequence[views.HistoryEntry]:
        """The newest entries about a pod, oldest first."""

    def pending(self, limit: int) -> views.Pending: ...

    def pending_pods(self, plugin: str, reason: str, limit: int) -> Sequence[views.PendingPod]: ...

    def object_counts(self) -> dict[str, int]: ...

    def overcommitted(self) -> Sequence[views.Overcommit]: ...

    def snapshot(self) -> views.Snapshot: ...


class Now:
    """As it is."""

    def __init__(self, cluster_id: int) -> None:
        """ClusterGoneError."""
        self._id = cluster_id
        cluster = selectors.cluster_get(cluster_id)
        self.cursor = views.Cursor(cluster.rv, cluster.seq)
        self.related: Related = Stored(cluster_id)
        self.is_frozen = in_vain.is_frozen(cluster)

    @cached_property
    def now(self) -> int:
        return clock.now_of(self._id)

    def pod(self, namespace: str, name: str) -> Pod:
        return selectors.pod_get(cluster_id=self._id, namespace=namespace, name=name)

    def node(self, name: str) -> Node:
        return selectors.node_get(cluster_id=self._id, name=name)

    def object(self, kind: str, namespace: str, name: str) -> views.ClusterObject:
        return objects.object_get(cluster_id=self._id, kind=kind, namespace=namespace, name=name)

    def objects(self, kind: str, namespace: str | None, after: tuple[str, str], limit: int) -> list[objects.Kept]:
        return objects.objects_after(cluster_id=self._id, kind=kind, namespace=namespace, after=after, limit=limit)

    def node_pods(self, name: str) -> Sequence[views.PodView]:
        return selectors.node_pods(cluster_id=self._id, node_name=name)

    def queue_of(self, pod: Pod) -> views.QueueView | None:
        return trace_selectors.pod_queue(self._id, pod)

    def pod_uid(self, namespace: str, name: str) -> str | None:
        return trace_selectors.pod_uid(self._id, namespace, name)

    def pod_attempts(self, namespace: str, name: str, number: int | None) -> QuerySet[Attempt]:
        return trace_selectors.pod_attempts(self._id, namespace, name, number)

    def attempts_as_told(self, found: Sequence[Attempt]) -> Sequence[Attempt]:
        return found

    def pod_history(self, uid: str, limit: int) -> Sequence[views.HistoryEntry]:
        return scheduling_selectors.pod_history(self._id, uid, limit)

    def pending(self, limit: int) -> views.Pending:
        return trace_selectors.pending_summary(self._id, limit)

    def pending_pods(self, plugin: str, reason: str, limit: int) -> Sequence[views.PendingPod]:
        return trace_selectors.pending_pods(self._id, plugin=plugin, reason=reason, limit=limit)

    def object_counts(self) -> dict[str, int]:
        return selectors.object_counts(self._id)

    def overcommitted(self) -> Sequence[views.Overcommit]:
        return selectors.node_overcommit(self._id)

    def snapshot(self) -> views.Snapshot:
        return trace_selectors.snapshot(self._id)


class Then:
    """As it was."""

    def __init__(self, moment: Moment) -> None:
        """ClusterGoneError."""
        self._id, self._moment = moment.cluster_id, moment
        self.cursor = views.Cursor(moment.position.rv, moment.position.seq)
        self.now = moment.at
        self.related: Related = _Remade(self)
        self._settings = rows.settings_at(selectors.cluster_get(self._id), self.cursor.rv)
        self.is_frozen = in_vain.is_frozen(self._settings)

    # -- objects -----------------------------------------------------------------------------------------------------

    def of_kind(self, kind: str) -> Iterator[tuple[str, str, int, bytes]]:
        """(namespace, name, rv, manifest as JSON) of a kind, by namespace and name."""
        texts = self._moment.objects.texts
        for key in sorted(key for key in texts if key[0] == kind):
            yield key[1], key[2], *texts[key]

    def _stored(self, kind: str, namespace: str, name: str) -> tuple[int, Manifest]:
        found = self._moment.objects.texts.get((kind, namespace, name))
        if found is None:
            raise objects.absent(kind, namespace, name)
        return found[0], orjson.loads(found[1])

    def pod(self, namespace: str, name: str) -> Pod:
        return self._pod(*self._stored("Pod", namespace, name))

    def node(self, name: str) -> Node:
        rv, manifest = self._stored("Node", "", name)
        columns = adapters.node_columns(adapters.node_of(manifest))
        return Node(cluster_id=self._id, name=name, rv=rv, allocatable=columns.allocatable, manifest=manifest)

    def object(self, kind: str, namespace: str, name: str) -> views.ClusterObject:
        rv, manifest = self._stored(kind, namespace, name)
        return views.ClusterObject(rv=rv, manifest=manifest)

    def objects(self, kind: str, namespace: str | None, after: tuple[str, str], limit: int) -> list[objects.Kept]:
        found: list[objects.Kept] = []
        for of, name, rv, text in self.of_kind(kind):
            if (of, name) > after and namespace in (None, of):
                found.append(objects.Kept(of, name, rv, orjson.loads(text)))
                if len(found) == limit:
                    break
        return found

    def object_counts(self) -> dict[str, int]:
        counts: dict[str, int] = {"Node": 0, "Pod": 0}
        for kind, _, _ in self._moment.objects.texts:
            counts[kind] = counts.get(kind, 0) + 1
        return {kind: counts[kind] for kind in ("Node", "Pod", *sorted(counts.keys() - {"Node", "Pod"}))}

    def _pod(self, rv: int, manifest: Manifest) -> Pod:
        metadata, columns = manifest["metadata"], adapters.stored_pod_columns(manifest)
        return Pod(
            cluster_id=self._id,
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            rv=rv,
            node_name=columns.node_name,
            requests=columns.requests,
            manifest=manifest,
        )

    @cached_property
    def _pods(self) -> list[views.PodView]:
        found = (orjson.loads(text) for _, _, _, text in self.of_kind("Pod"))
        return [selectors.stored_pod_view(manifest, moment_of(self.now)) for manifest in found]

    @cached_property
    def _nodes(self) -> list[views.NodeView]:
        return [selectors.stored_node_view(orjson.loads(text)) for _, _, _, text in self.of_kind("Node")]

    def node_pods(self, name: str) -> Sequence[views.PodView]:
        return [pod for pod in self._pods if pod.node == name and pod.phase not in TERMINAL_PHASES]

    # -- what the scheduler said of them -----------------------------------------------------------------------------

    @cached_property
    def _queue(self) -> list[views.QueueView]:
        moment = self._moment
        if moment.scheduler is None:
            return []
        found = rows.queues_at(self._id, moment.scheduler.engine, moment.run, moment.seq)
        return [live.queue_view(row) for row in found]

    def queue_of(self, pod: Pod) -> views.QueueView | None:
        return next((view for view in self._queue if view.uid == pod.uid), None)

    def pod_uid(self, namespace: str, name: str) -> str | None:
        present = self._present_uid(namespace, name)
        if present is not None:
            return present
        tried = rows.attempts_at(self._id, self._moment.seq).filter(namespace=namespace, name=name)
        return tried.values_list("pod_uid", flat=True).first()

    def pod_attempts(self, namespace: str, name: str, number: int | None) -> QuerySet[Attempt]:
        present = self._present_uid(namespace, name)
        found = trace_selectors.pod_attempts_of(self._id, namespace, name, present, number)
        return found.filter(seq__lte=self._moment.seq)

    def _present_uid(self, namespace: str, name: str) -> str | None:
        stored = self._moment.objects.texts.get(("Pod", namespace, name))
        return None if stored is None else str(orjson.loads(stored[1])["metadata"]["uid"])

    def attempts_as_told(self, found: Sequence[Attempt]) -> Sequence[Attempt]:
        repeated = {row.seq: row.pod_uid for row in found if row.repeat_count}
        last = rows.repeats_at(self._id, repeated, self._moment.seq)
        counts = rows.repeats_counted(self._id, repeated, self._moment.seq)
        for row in found:
            rows.attempt_taken_back(row, last.get(row.seq)).repeat_count = counts.get(row.seq, 0)
        return found

    def pod_history(self, uid: str, limit: int) -> Sequence[views.HistoryEntry]:
        return scheduling_selectors.pod_history(self._id, uid, limit, until=(self._moment.seq, moment_of(self.now)))

    def pending(self, limit: int) -> views.Pending:
        return trace_selectors.pending_summary(self._id, limit, tables=self._tables, profiles=self._settings.profiles)

    def pending_pods(self, plugin: str, reason: str, limit: int) -> Sequence[views.PendingPod]:
        found = trace_selectors.pending_pods(
            self._id,
            plugin=plugin,
            reason=reason,
            limit=limit,
            tables=self._tables,
            profiles=self._settings.profiles,
        )
        wanted = rows.attempts_at(self._id, self._moment.seq).filter(seq__in=[each.seq for each in found])
        last = rows.repeats_at(self._id, {each.seq: each.pod_uid for each in found}, self._moment.seq)
        then = {row.seq: rows.attempt_taken_back(row, last.get(row.seq)) for row in wanted}
        return [
            msgspec.structs.replace(each, attempt=then[each.seq].last_attempt, seen_at=then[each.seq].last_seen_at)
            for each in found
            if each.seq in then
        ]

    def overcommitted(self) -> Sequence[views.Overcommit]:
        return selectors.node_overcommit(self._id, self._tables)

    def list_of_pods(self) -> ListThen:
        """What the list of pods is read from."""
        moment = self._moment
        stepped_at = 0 if moment.now is None else microseconds(moment.now)
        found = ObjectsThen(self._id, moment.position, moment.at, moment.seq, stepped_at, moment.objects)
        queue = [{"pod_uid": view.uid, "queue": view.queue} for view in self._queue]
        return pods_then(found, queue, self._settings.profiles)

    @cached_property
    def _tables(self) -> Tables:
        """What queries over several tables find instead of them."""
        pods = [
            {
                "uid": pod.uid,
                "namespace": pod.key.partition("/")[0],
                "name": pod.key.partition("/")[2],
                "node_name": pod.node,
                "phase": pod.phase,
                "scheduler_name": pod.scheduler,
                "created_at": moment_of(pod.created_ms * 1000),
                "requests": pod.requests,
            }
            for pod in self._pods
        ]
        nodes = [
            {"name": name, "allocatable": adapters.node_columns(adapters.node_of(orjson.loads(text))).allocatable}
            for _, name, _, text in self.of_kind("Node")
        ]
        queue = [{"pod_uid": view.uid, "queue": view.queue} for view in self._queue]
        given = (
            (
                "cluster_pod",
                "uid text, namespace text, name text, node_name text, phase text, scheduler_name text,"
                " created_at timestamptz, requests jsonb",
                pods,
            ),
            ("cluster_node", "name text, allocatable jsonb", nodes),
            ("traces_queuestate", "pod_uid text, queue text", queue),
        )
        return Tables(
            [
                *(
                    f"{name} AS (SELECT %s::bigint AS cluster_id, given.* FROM jsonb_to_recordset(%s::jsonb)"
                    f" AS given ({columns}))"
                    for name, columns, _ in given
                ),
                "traces_attempt AS (SELECT * FROM traces_attempt WHERE seq <= %s)",
            ],
            [*(value for _, _, found in given for value in (self._id, bulk.json_text(found))), self._moment.seq],
        )

    def snapshot(self) -> views.Snapshot:
        now = moment_of(self.now)
        oldest_ms = adapters.milliseconds(now - selectors.ENDED_PODS_KEPT)
        pods = [pod for pod in self._pods if pod.phase not in TERMINAL_PHASES or pod.created_ms >= oldest_ms]
        attempts = rows.attempt_rows(self._id, self._moment.seq, live.SNAPSHOT_ATTEMPTS)
        return views.Snapshot(
            cursor=self.cursor,
            cluster=self._settings,
            nodes=self._nodes,
            pods=pods,
            queue=self._queue,
            events=self._events(live.SNAPSHOT_EVENTS),
            attempts=[live.attempt_in_line(row) for row in attempts],
            throughput=rows.throughput_at(
                self._id, (self.cursor.rv, self._moment.seq), now - live.SNAPSHOT_THROUGHPUT, now
            ),
            pods_left_out=len(self._pods) - len(pods),
        )

    def _events(self, limit: int) -> list[views.EventView]:
        stored = sorted(self.of_kind(events.KIND), key=lambda each: -each[2])
        objects = [events.event_view(orjson.loads(text)) for _, _, _, text in stored]
        told = events.mixed(rows.events_at(self._id, self._moment.seq, limit), objects, limit)
        return with_names(self._id, told)


class _Remade:
    """The objects beside the one that is shown, as they were."""

    def __init__(self, then: Then) -> None:
        self._then = then

    def node(self, name: str) -> Manifest | None:
        return self.named("Node", "", [name]).get(name)

    def named(self, kind: str, namespace: str, names: Collection[str]) -> dict[str, Manifest]:
        texts = self._then._moment.objects.texts
        found = {name: texts.get((kind, namespace, name)) for name in names}
        return {name: orjson.loads(each[1]) for name, each in found.items() if each is not None}

    def of_kind(self, kind: str, namespace: str = "") -> Iterable[Manifest]:
        found = self._then.of_kind(kind)
        return (orjson.loads(text) for of, _, _, text in found if namespace in ("", of))

    def leaving_pods(self, node_name: str) -> Iterable[Manifest]:
        pods = [each for each in self._then.node_pods(node_name) if each.deleting]
        return [self._then.pod(*each.key.split("/")).manifest for each in pods]

    def tainted_nodes(self, keys: Collection[str]) -> Iterable[Manifest]:
        nodes = self.of_kind("Node")
        return (each for each in nodes if any(one["key"] in keys for one in each["spec"].get("taints") or ()))

    def slices(self, node_name: str) -> list[Manifest]:
        found = [orjson.loads(text) for _, _, _, text in self._then.of_kind("ResourceSlice")]
        return [each for each in found if each["spec"].get("nodeName") == node_name]

    def claims(self) -> Iterable[tuple[str, str, Manifest | None]]:
        for namespace, name, _, text in self._then.of_kind("ResourceClaim"):
            yield namespace, name, orjson.loads(text).get("status")
