"""Controllers at work: the simulated life of pods, and the script of the sample cluster.

One host per cluster and process follows the change log and asks the core's controllers what is due. Whoever holds
the cluster's advisory lock acts, others pass. Effects do no harm when given twice, so a host whose effects were
not written is thrown away and made anew from the tables.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import structlog
from django.db import connection, transaction

from kschedweb.cluster import follow
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import StatusUpdate
from kschedweb.common import wake
from kschedweb.lifecycle.services import (
    DISRUPTION_ACTOR,
    KUBELET_ACTOR,
    SCRIPT_ACTOR,
    VOLUME_ACTOR,
    Orders,
    orders_carry_out,
)
from scheduler_core.lifecycle.disruption import DisruptionController
from scheduler_core.lifecycle.effects import (
    LifecycleEffect,
    NodeCordon,
    ObjectCreation,
    ObjectPatch,
    ObjectRemoval,
    PodCreation,
    PodDeletion,
    PodRemoval,
    PodStatusWrite,
)
from scheduler_core.lifecycle.ephemeral_claims import EphemeralClaims
from scheduler_core.lifecycle.kubelet import Kubelet
from scheduler_core.lifecycle.pod_gc import PodGC
from scheduler_core.lifecycle.sample import sample_workload
from scheduler_core.lifecycle.volumes import VolumeController
from scheduler_core.lifecycle.workloads import ScriptedWorkload
from scheduler_core.model.changes import Change

log = structlog.get_logger(__name__)

SLICE_SECONDS = 1.0
# What is due later than this is left to the sweep, which comes every two seconds.
NEAR_SECONDS = 3.0
# A follow-up message not seen for so long is lost, and another may be sent.
FOLLOW_UP_LOST_SECONDS = 10.0
# Any number that no other advisory lock has.
LOCK_CLASS = 0x6B736C63


@dataclass
class ControllerHost:
    """The controllers of one cluster; `unread` are stored objects they have not been told yet.

    Only the sample cluster has a script.
    """

    cluster_id: int
    kubelet: Kubelet
    pod_gc: PodGC
    volumes: VolumeController
    ephemeral_claims: EphemeralClaims
    disruption: DisruptionController
    script: ScriptedWorkload | None
    rv: int
    unread: list[Change]

    @staticmethod
    def build(cluster_id: int) -> ControllerHost:
        """Controllers which will know everything stored."""
        with transaction.atomic():
            follow.read_only_moment()
            cluster = Cluster.objects.get(pk=cluster_id)
            changes = follow.stored_changes(cluster_id=cluster_id)
        kubelet = Kubelet(start_delay_us=cluster.start_delay_ms * 1000)
        script = None
        if cluster.is_sample:
            script = sample_workload(seed=cluster.seed, started_at=follow.microseconds(cluster.created_at))
        return ControllerHost(
            cluster_id=cluster_id,
            kubelet=kubelet,
            pod_gc=PodGC(),
            volumes=VolumeController(),
            ephemeral_claims=EphemeralClaims(),
            disruption=DisruptionController(),
            script=script,
            rv=cluster.rv,
            unread=changes,
        )

    def step(self, now: int) -> float | None:
        """Act on what changed and what is due; seconds until more is due, None when only a change brings more."""
        changes, self.rv = follow.changes_after(cluster_id=self.cluster_id, rv=self.rv)
        changes = self.unread + changes
        self.unread = []
        self._carry_out([*self.kubelet.step(now, changes), *self.pod_gc.step(now, changes)], KUBELET_ACTOR, now)
        volume_effects = [*self.ephemeral_claims.step(now, changes), *self.volumes.step(now, changes)]
        self._carry_out(volume_effects, VOLUME_ACTOR, now)
        self._carry_out(self.disruption.step(now, changes), DISRUPTION_ACTOR, now)
        controllers = (self.kubelet, self.pod_gc, self.volumes, self.disruption)
        times = [controller.next_due() for controller in controllers]
        if self.script is not None:
            self._carry_out(self.script.step(now, changes), SCRIPT_ACTOR, now)
            times.append(self.script.next_due())
        dues = [due for due in times if due is not None]
        return max(0.0, (min(dues) - now) / follow.MICROSECOND) if dues else None

    def _carry_out(self, effects: list[LifecycleEffect], actor: str, now: int) -> None:
        orders = orders_of(effects)
        if orders:
            orders_carry_out(cluster_id=self.cluster_id, orders=orders, actor=actor, now=follow.moment_of(now))


def orders_of(effects: Iterable[LifecycleEffect]) -> Orders:
    """Effects of controllers, sorted by what the cluster's services take together."""
    orders = Orders()
    for effect in effects:
        if isinstance(effect, PodStatusWrite):
            start_time = None if effect.start_time is None else follow.moment_of(effect.start_time)
            orders.updates.append(
                StatusUpdate(
                    pod_uid=effect.pod_uid,
                    phase=effect.phase,
                    start_time=start_time,
                    conditions=effect.conditions,
                )
            )
        elif isinstance(effect, PodRemoval):
            orders.removals.append(effect.pod_uid)
        elif isinstance(effect, PodDeletion):
            orders.deletions.append((effect.namespace, effect.name, effect.pod_uid))
        elif isinstance(effect, (PodCreation, ObjectCreation)):
            orders.creations.append(dict(effect.manifest))
        elif isinstance(effect, NodeCordon):
            orders.cordons.append((effect.node_name, effect.unschedulable))
        elif isinstance(effect, ObjectPatch):
            orders.patches.append(
                cluster_services.ObjectPatch(effect.kind, effect.namespace, effect.name, effect.uid, effect.patch)
            )
        elif isinstance(effect, ObjectRemoval):
            orders.object_removals.append((effect.kind, effect.namespace, effect.name, effect.uid))
    return orders


_hosts: dict[int, ControllerHost] = {}
_follow_ups: dict[int, float] = {}


def tick(cluster_id: int, *, follow_up: bool = False) -> None:
    """A slice of the cluster's life: act, wait for what is due soon, and see that somebody goes on."""
    if follow_up:
        _follow_ups.pop(cluster_id, None)
    ends_at = time.monotonic() + SLICE_SECONDS
    while True:
        due_in = _act(cluster_id)
        if due_in is None or due_in > NEAR_SECONDS:
            return
        if time.monotonic() + due_in > ends_at:
            _go_on(cluster_id)
            return
        # A short sleep is cheaper than a message; another cluster waits at most for the rest of this slice.
        time.sleep(max(due_in, 0.01))


def _act(cluster_id: int) -> float | None:
    with _sole_actor(cluster_id) as alone:
        if not alone or not Cluster.objects.filter(pk=cluster_id, lifecycle_mode=LifecycleMode.SIMULATE).exists():
            _hosts.pop(cluster_id, None)
            return None
        host = _hosts.get(cluster_id)
        if host is None:
            host = _hosts[cluster_id] = ControllerHost.build(cluster_id)
        try:
            return host.step(time.time_ns() // 1000)
        except follow.LogClearedError:
            _hosts.pop(cluster_id, None)
            return 0.0  # begin again with what is stored
        except BaseException:
            _hosts.pop(cluster_id, None)
            raise


def _go_on(cluster_id: int) -> None:
    """Send one follow-up for the cluster, however many ticks were asked for."""
    now = time.monotonic()
    if now - _follow_ups.get(cluster_id, -FOLLOW_UP_LOST_SECONDS) >= FOLLOW_UP_LOST_SECONDS:
        _follow_ups[cluster_id] = now
        wake.send("lifecycle.tick", cluster_id=cluster_id, follow_up=True)


@contextlib.contextmanager
def _sole_actor(cluster_id: int) -> Iterator[bool]:
    """Whether no other worker acts on the cluster now; held for the block, on this connection."""
    key = [LOCK_CLASS, cluster_id & 0x7FFFFFFF]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
        alone = bool(cursor.fetchone()[0])
    try:
        yield alone
    finally:
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)
