"""Rows of the engine's log: its journal of steps, what happened in them, and every attempt in full.

All of them are written by one writer, the fenced leader of the cluster, in the transaction of the step, after it has
moved the cluster's `seq`; so the cluster exists, and its id needs no foreign key (see cluster/models/__init__.py).
Engine time is an integer in microseconds since the Unix epoch; `seq` and `rv` are positions in the two logs.
"""

from datetime import datetime
from typing import Any, Protocol

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q

from kschedweb.cluster.models import Cluster
from kschedweb.common.fields import CompactJSONField
from kschedweb.traces.choices import Agreement, Cause, LogKind, Queue, Result, StepKind


class BestNodesField(CompactJSONField):
    """[{node, total, scores: {plugin: weighted}}]; the names of the plugins are stored once (see `pack`)."""

    @staticmethod
    def pack(nodes: list[tuple[str, int | None, dict[str, int]]]) -> list[Any]:
        """(node, total, scores) of each node as it is stored: names of plugins, then [node, total, score, …]."""
        if not nodes:
            return []
        return [list(nodes[0][2]), *([node, total, *scores.values()] for node, total, scores in nodes)]

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        value = super().from_db_value(value, expression, connection)
        if not value or isinstance(value[0], dict):
            return value  # none, or as it was stored at first
        plugins, *nodes = value
        return [
            {"node": node, "total": total, "scores": dict(zip(plugins, scores, strict=True))}
            for node, total, *scores in nodes
        ]


class EngineStep(models.Model):
    """One committed step: which changes (from, to] it took, what it logged (from, to], and its chained digest."""

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    run = models.BigIntegerField()
    epoch = models.BigIntegerField()
    step = models.BigIntegerField()
    kind = models.CharField(max_length=16, choices=StepKind)
    log_from = models.BigIntegerField()
    log_to = models.BigIntegerField()
    seq_from = models.BigIntegerField()
    seq_to = models.BigIntegerField()
    now = models.DateTimeField()
    now_us = models.BigIntegerField()
    cycles = models.IntegerField(default=0)
    config_version = models.PositiveIntegerField(default=1)
    digest = models.BinaryField()
    rv = models.BigIntegerField(default=0)  # where the change log ended before what the step itself wrote to it
    seq_at_rv = models.BigIntegerField(default=0)  # where the engine log ended when the change log came there
    began_from = models.BinaryField(null=True)  # of a run's first step: see scheduling.beginnings; null in older ones
    draws = models.BinaryField(null=True)  # [pod key, attempt, purpose, number] of a file without names; else null

    class Meta:
        constraints = [
            # Its index serves replay: the steps of a run in order.
            models.UniqueConstraint(fields=["cluster", "run", "step"], name="engine_step_unique"),
            models.CheckConstraint(condition=Q(kind__in=StepKind.values), name="engine_step_kind_known"),
            models.CheckConstraint(
                condition=Q(log_to__gte=F("log_from"), seq_to__gte=F("seq_from")), name="engine_step_ranges"
            ),
        ]
        indexes = [
            # Read by the scrubber and by time travel: the step at a position.
            models.Index(fields=["cluster", "seq_to"], name="engine_step_by_seq"),
            # Read by the events of the Kubernetes API: the last step before a change.
            models.Index(fields=["cluster", "rv", "seq_to"], name="engine_step_by_rv"),
            # Read by time travel: the last step by a time.
            models.Index(fields=["cluster", "now_us", "run", "step"], name="engine_step_by_time"),
            # Read by time travel: the first steps of runs, from which engines can be made again.
            models.Index(fields=["cluster", "run"], name="engine_step_first", condition=Q(step=1)),
        ]

    def __str__(self) -> str:
        return f"step {self.run}.{self.step} ({self.kind})"


# What a payload leaves out, by kind: the time it has when it is that of the entry, and words that mean nothing.
_TIMES: dict[str, str] = {
    LogKind.QUEUE: "since_ms",
    LogKind.CACHE: "at_ms",
    LogKind.ATTEMPT: "at_ms",
    LogKind.EVENT: "at_ms",
}
_LEFT_OUT: dict[str, dict[str, Any]] = {
    LogKind.QUEUE: {"attempts": 0, "backoff_until_ms": None, "plugins": [], "hint": ""},
    LogKind.ATTEMPT: {"node": "", "message": "", "evaluated": 0, "feasible": 0},
}


class _Entry(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def pod_uid(self) -> str: ...
    @property
    def pod_key(self) -> str: ...
    @property
    def payload(self) -> Any: ...
    @property
    def at(self) -> datetime: ...


def full_payload(entry: _Entry) -> dict[str, Any]:
    """The payload of an entry of the engine log with the values its columns hold and the defaults it leaves out."""
    known: dict[str, Any] = {"uid": entry.pod_uid, "key": entry.pod_key} if entry.pod_uid else {}
    kind = entry.kind
    if kind in _TIMES:
        known[_TIMES[kind]] = int(entry.at.timestamp() * 1000)
    payload: dict[str, Any] = entry.payload
    return known | _LEFT_OUT.get(kind, {}) | payload


class EngineLog(models.Model):
    """One entry of the engine log: a move, an attempt, an event, a step.

    Read `full_payload` rather than `payload`. An attempt that `repeats` an earlier one names it and says no more.
    """

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    seq = models.BigIntegerField()
    rv = models.BigIntegerField()
    step = models.BigIntegerField()
    kind = models.CharField(max_length=16, choices=LogKind)
    pod_uid = models.CharField(max_length=128, blank=True, default="")
    pod_key = models.CharField(max_length=320, blank=True, default="")
    payload = CompactJSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            # Its index serves the followers: cluster = ? and seq > ? in order.
            models.UniqueConstraint(fields=["cluster", "seq"], name="engine_log_position_unique"),
            models.CheckConstraint(condition=Q(kind__in=LogKind.values), name="engine_log_kind_known"),
        ]
        indexes = [
            # Read by the history of one pod.
            models.Index(fields=["cluster", "pod_uid", "seq"], name="engine_log_by_pod", condition=~Q(pod_uid="")),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.pod_key}"

    @property
    def full_payload(self) -> dict[str, Any]:
        """The payload with the values its columns hold and the defaults it leaves out."""
        return full_payload(self)


class Attempt(models.Model):
    """One attempt to schedule a pod, with its matrix. A repeat of the pod's last one has no row of its own.

    It raises `repeat_count` of that one's and leaves there what it has of its own: `last_seen_at` and `last_repeat`.
    """

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    seq = models.BigIntegerField()
    # The change log as far as the engine had read it, and the configuration it ran under.
    rv = models.BigIntegerField(default=0)
    config_version = models.PositiveIntegerField(default=1)
    run = models.BigIntegerField(default=0)
    step = models.BigIntegerField()
    place = models.IntegerField()
    pod_uid = models.CharField(max_length=128)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    attempt = models.IntegerField()
    profile = models.CharField(max_length=253)
    result = models.CharField(max_length=16, choices=Result)
    node_name = models.CharField(max_length=253, blank=True, default="")
    nominated_node_name = models.CharField(max_length=253, null=True, blank=True)
    message = models.TextField(blank=True, default="")
    started_at = models.DateTimeField()
    duration_us = models.BigIntegerField(default=0)
    durations = CompactJSONField(default=dict)
    evaluated = models.IntegerField(default=0)
    feasible = models.IntegerField(default=0)
    unschedulable_plugins = ArrayField(models.CharField(max_length=128), default=list)
    rejections = models.JSONField(default=list)  # [{plugin, reason, code, count}], the most frequent first
    # Of each rejection what was asked and what there was, as scheduler_core.model.amounts packs it; null: not known.
    amounts = CompactJSONField(null=True, blank=True)
    # Every plugin and every reason of the rejections once: what questions over many attempts look up.
    refused = ArrayField(models.TextField(), default=list)
    best = BestNodesField(default=list)  # [{node, total, scores: {plugin: weighted}}], the best first
    # {node, victims, num_victims, num_pdb_violations, tried, candidates, tied, cleared, decided_by}; null: no search.
    preemption = models.JSONField(null=True, blank=True)
    devices = models.JSONField(null=True, blank=True)  # as views.DeviceRecord; null: no claim was to be allocated
    # How many nodes had the highest total; null where no totals were compared, and in rows older than the column.
    tied = models.IntegerField(null=True, blank=True)
    # Whether the node the pod was nominated to fit, so that no other was tried; false in rows older than the column.
    tried_first = models.BooleanField(default=False)
    # Digest of the NodeOrder the matrix refers to; empty without a matrix.
    node_order = models.CharField(max_length=64, blank=True, default="")
    matrix = models.BinaryField(null=True, blank=True)
    digest = models.BinaryField()
    repeat_count = models.IntegerField(default=0)
    last_seen_at = models.DateTimeField()
    # {attempt, duration_us, durations} of the last repeat; null: none, or one that an older version counted.
    last_repeat = CompactJSONField(null=True, blank=True)

    class Meta:
        constraints = [
            # Its index serves the newest attempts of a cluster and the page of one attempt.
            models.UniqueConstraint(fields=["cluster", "seq"], name="attempt_position_unique"),
            models.CheckConstraint(condition=Q(result__in=Result.values), name="attempt_result_known"),
            models.CheckConstraint(condition=Q(feasible__gte=0, evaluated__gte=0), name="attempt_counts_positive"),
        ]
        indexes = [
            # Read by the page of a pod, and by the digest over first attempts.
            models.Index(fields=["cluster", "pod_uid", "-seq"], name="attempt_by_pod"),
            # Read by questions about a plugin or a reason.
            GinIndex(fields=["refused"], name="attempt_by_refusal"),
            # Read by questions about a span of time; a repeat counts when it was seen last.
            models.Index(fields=["cluster", "last_seen_at"], name="attempt_by_time"),
            # Read by the slowest cycles.
            models.Index(fields=["cluster", "-duration_us", "-seq"], name="attempt_by_duration"),
            # Read by the list of preemptions.
            models.Index(fields=["cluster", "-seq"], name="attempt_preempting", condition=Q(preemption__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} #{self.last_attempt}: {self.result}"

    @property
    def last_attempt(self) -> int:
        """The number of the last of the equal attempts in this row."""
        return self.last_repeat["attempt"] if self.last_repeat else self.attempt + self.repeat_count

    @property
    def last_duration_us(self) -> int | None:
        """How long the last of them took; None: not known."""
        known: int | None = self._last("duration_us", None)
        return known

    @property
    def last_durations(self) -> dict[str, int]:
        """How long its phases took; empty: not known."""
        return dict(self._last("durations", {}))

    def _last(self, name: str, unknown: Any) -> Any:
        if self.last_repeat:
            return self.last_repeat[name]
        return unknown if self.repeat_count else getattr(self, name)


class Comparison(models.Model):
    """What the scheduler of a mirrored cluster decided about a pod, beside our own decision on the state before.

    `seq` is that of our attempt, 0 where none was made; see scheduler_core.model.effects.Comparison for the rest.
    """

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    seq = models.BigIntegerField(default=0)
    pod_uid = models.CharField(max_length=128)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    profile = models.CharField(max_length=253)
    outcome = models.CharField(max_length=16, choices=Agreement)
    node_name = models.CharField(max_length=253)
    own_node_name = models.CharField(max_length=253, blank=True, default="")
    plugin = models.CharField(max_length=253, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    own_score = models.BigIntegerField(null=True, blank=True)
    score = models.BigIntegerField(null=True, blank=True)
    own_total = models.BigIntegerField(null=True, blank=True)
    total = models.BigIntegerField(null=True, blank=True)
    cause = models.CharField(max_length=16, blank=True, default="", choices=Cause)
    behind = models.JSONField(default=list)  # as views.Behind, of the outcome `earlier`
    tries = models.IntegerField(default=0)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=Agreement.values), name="comparison_outcome_known"),
            models.CheckConstraint(condition=Q(cause__in=["", *Cause.values]), name="comparison_cause_known"),
        ]
        indexes = [
            # Read by the list of comparisons, newest first; by figure, chart and retention; by the page of a pod.
            models.Index(fields=["cluster", "-id"], name="comparison_newest"),
            models.Index(fields=["cluster", "at"], name="comparison_by_time"),
            models.Index(fields=["cluster", "pod_uid", "-id"], name="comparison_by_pod"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}: {self.outcome}"


class NodeOrder(models.Model):
    """The node names attempts of an unchanged cluster share; `names` is zstd of a JSON list."""

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    digest = models.CharField(max_length=64)
    names = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "digest"], name="node_order_unique")]

    def __str__(self) -> str:
        return self.digest


class Checkpoint(models.Model):
    """All there is to go on from a step of the engine: its state, and every object stored then.

    `engine` is the core's checkpoint, compressed (of a mirror's engine, nothing); `objects_packed` compressed lines of
    JSON {kind, rv, manifest} as of `objects_rv`, which may be past the `rv` the engine had seen. Retention cuts the
    logs only at a checkpoint.
    """

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    run = models.BigIntegerField()
    step = models.BigIntegerField()
    seq = models.BigIntegerField()
    rv = models.BigIntegerField()
    objects_rv = models.BigIntegerField()
    config_version = models.PositiveIntegerField()
    at = models.DateTimeField()
    digest = models.BinaryField(default=b"")  # of the step, which may have been cut away; empty in older rows
    gates = models.JSONField(null=True)  # {name: whether} of the feature gates it was built with; null in older rows
    engine = models.BinaryField()
    objects_packed = models.BinaryField()

    class Meta:
        constraints = [
            # Its index serves replay and retention: the newest checkpoint before a position.
            models.UniqueConstraint(fields=["cluster", "seq", "run", "step"], name="checkpoint_position_unique"),
        ]

    def __str__(self) -> str:
        return f"checkpoint at step {self.run}.{self.step}"


class ThroughputCount(models.Model):
    """What a cluster's scheduler did in the second or minute that begins at `at`, and how its queue stood at the end.

    A second in which nothing happened has no row. `run` and the sizes of the queue are null where no step was made:
    the row then tells of bindings alone. Seconds become minutes after a day (`traces.services.throughput_roll_up`).
    """

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    at = models.DateTimeField()
    seconds = models.PositiveSmallIntegerField(help_text="how long the time is: 1 or 60")
    run = models.BigIntegerField(null=True, help_text="the engine at work last")
    # Attempts by how they ended.
    scheduled = models.IntegerField(default=0)
    unschedulable = models.IntegerField(default=0)
    error = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    no_profile = models.IntegerField(default=0)
    bound = models.IntegerField(default=0, help_text="pods bound by this scheduler")
    queue_active = models.IntegerField(null=True)
    queue_backoff = models.IntegerField(null=True)
    queue_unschedulable = models.IntegerField(null=True)
    queue_gated = models.IntegerField(null=True)

    class Meta:
        constraints = [
            # Its index serves the chart, the roll-up and retention: a span of time of one cluster.
            models.UniqueConstraint(fields=["cluster", "at", "seconds"], name="throughput_count_unique"),
            models.CheckConstraint(condition=Q(seconds__in=[1, 60]), name="throughput_count_resolution"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} ({self.seconds} s)"


class QueueState(models.Model):
    """Where a pod stands now, derived from the engine log; the row goes when the pod is bound or gone."""

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    pod_uid = models.CharField(max_length=128)
    pod_key = models.CharField(max_length=320)
    queue = models.CharField(max_length=16, choices=Queue)
    node_name = models.CharField(max_length=253, blank=True, default="")
    event = models.CharField(max_length=128, blank=True, default="")
    since = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    backoff_until = models.DateTimeField(null=True, blank=True)
    plugins = ArrayField(models.CharField(max_length=128), default=list)
    seq = models.BigIntegerField()

    class Meta:
        constraints = [
            # Its index serves the snapshot.
            models.UniqueConstraint(fields=["cluster", "pod_uid"], name="queue_state_pod_unique"),
            models.CheckConstraint(condition=Q(queue__in=Queue.values), name="queue_state_queue_known"),
        ]

    def __str__(self) -> str:
        return f"{self.pod_key}: {self.queue}"
