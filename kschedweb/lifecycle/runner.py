"""Runs the controllers of simulated clusters, and clocks that go by steps.

One host per cluster and process follows the change log and asks the core's controllers what is due. Whoever holds
the cluster's advisory lock acts, others pass. Requests do no harm when repeated, so a host whose requests were
not written is dropped and made again from the tables.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog
from django.db import connection, transaction

from kschedweb.cluster import follow, gone
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.clock import Clock, wall_us
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.selectors import cluster_get
from kschedweb.cluster.services import requests_carry_out
from kschedweb.common import wake
from kschedweb.common.memory import trim
from kschedweb.lifecycle import timekeeper
from scheduler_core.api.manifests import ALL_KINDS
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.controller import ClusterOptions, Controller, next_due, tell, told_anew
from scheduler_core.controllers.registry import controllers_of
from scheduler_core.model.changes import Change
from scheduler_core.sim.otter_post import OtterPost, sample_options

log = structlog.get_logger(__name__)

SLICE_SECONDS = 1.0
# Controllers act at most this often: what falls due meanwhile shares a transaction and a frame.
ACT_SECONDS = 0.1
# Where the clock goes by steps, they are what takes time.
STEPPED_ACT_SECONDS = 0.002
# What is due later than this is left to the sweep, which comes every two seconds.
NEAR_SECONDS = 3.0
# A follow-up message not seen for so long is lost, and another may be sent.
FOLLOW_UP_LOST_SECONDS = 10.0
# How often the position that controllers have answered is stored.
SAVE_SECONDS = 1.0
# Any number that no other advisory lock has.
LOCK_CLASS = 0x6B736C63


@dataclass
class ControllerHost:
    """The controllers of one cluster but the `external` groups; `unread` are changes they have not been told yet."""

    cluster_id: int
    controllers: list[Controller]
    rv: int
    unread: list[Change]
    external: Sequence[str] = ()
    due: int | None = None  # when controllers act again without a change, in microseconds
    saved: tuple[int, int | None] | None = None
    saved_at: float = 0.0

    @staticmethod
    def build(cluster_id: int) -> ControllerHost:
        """Make controllers that will be told everything stored, and what went since others had answered the log.

        Only the sample cluster has a demo.
        """
        with transaction.atomic():
            follow.read_only_moment()
            cluster = cluster_get(cluster_id)
            stored = follow.stored_changes(cluster_id=cluster_id, kinds=ALL_KINDS)
            changes = told_anew(
                stored, follow.deletions_after(cluster_id=cluster_id, rv=cluster.controllers_rv, kinds=ALL_KINDS)
            )
        options = ClusterOptions(
            start_delay_us=cluster.start_delay_ms * 1000,
            seed=cluster.seed,
            started_at=microseconds(cluster.created_at),
        )
        if cluster.is_sample:
            options = sample_options(options)
        controllers = controllers_of(options, cluster.external_controllers)
        if cluster.is_sample:
            controllers.append(OtterPost(options))
        return ControllerHost(cluster_id, controllers, cluster.rv, changes, cluster.external_controllers)

    def step(self, now: int, head: int | None = None) -> None:
        """Act on what changed and what is due; `due` is then when more is. The log had come to `head` at least."""
        changes, self.rv = follow.changes_after(cluster_id=self.cluster_id, rv=self.rv, least=head, kinds=ALL_KINDS)
        changes = self.unread + changes
        self.unread = []
        for controller in self.controllers:
            requests = controller.step(now, changes)
            if requests:
                answers = requests_carry_out(
                    cluster_id=self.cluster_id,
                    requests=requests,
                    actor=controller.actor,
                    now=now,
                    keeps_namespaces=True,
                )
                tell(controller, now, requests, answers)
        self.due = next_due(self.controllers)
        if len(changes) >= follow.MANY:
            del changes
            trim()

    def save(self) -> None:
        """Store now and then how far the log has been answered, and when more is due: whoever takes over begins there.

        The sweep wakes a cluster by both; what was stored last asks for no later time than what is true now.
        """
        if (self.rv, self.due) != self.saved and time.monotonic() - self.saved_at >= SAVE_SECONDS:
            Cluster.objects.filter(pk=self.cluster_id).update(controllers_rv=self.rv, controllers_due_us=self.due)
            self.saved, self.saved_at = (self.rv, self.due), time.monotonic()


_hosts: dict[int, ControllerHost] = {}
_due: dict[int, float] = {}  # when to act on a cluster again, on the process's own clock; those that are due soon
_acted_at: dict[int, float] = {}
_follow_up_at = -FOLLOW_UP_LOST_SECONDS  # when the one under way was sent


def tick(cluster_id: int, *, follow_up: bool = False) -> None:
    """Act on the cluster, but not too soon after the last time; a follow-up acts on all that are due, for a slice.

    One follow-up is under way at a time, and only it waits: messages, however many come, take no slices of their own.
    """
    global _follow_up_at
    now = time.monotonic()
    soonest = _acted_at.get(cluster_id, -ACT_SECONDS) + ACT_SECONDS
    if follow_up:
        _follow_up_at = -FOLLOW_UP_LOST_SECONDS
        _slice(now)
    elif soonest <= now:
        _act_on(cluster_id)
    else:
        _due[cluster_id] = min(soonest, _due.get(cluster_id, soonest))
    now = time.monotonic()
    if _due and now - _follow_up_at >= FOLLOW_UP_LOST_SECONDS:
        _follow_up_at = now
        wake.send("lifecycle.tick", cluster_id=min(_due, key=_due.__getitem__), follow_up=True)


def _slice(now: float) -> None:
    """Act on clusters when they are due; a short sleep is cheaper than a message."""
    ends_at = now + SLICE_SECONDS
    while _due and now <= ends_at:
        first = min(_due, key=_due.__getitem__)
        if _due[first] > ends_at:
            return
        time.sleep(max(0.0, _due[first] - now))
        _act_on(first)
        now = time.monotonic()


def _act_on(cluster_id: int) -> None:
    _due.pop(cluster_id, None)
    acted = _Acted(None)
    with gone.ends_work(cluster_id):
        acted = _act(cluster_id)
    _acted_at[cluster_id] = now = time.monotonic()
    if acted.due_in is not None and acted.due_in <= NEAR_SECONDS:
        _due[cluster_id] = now + max(acted.due_in, STEPPED_ACT_SECONDS if acted.is_stepped else ACT_SECONDS)


@dataclass(frozen=True, slots=True)
class _Acted:
    """What is to do after an act: in how many seconds, None for nothing; and whether the clock goes by steps."""

    due_in: float | None
    is_stepped: bool = False


def _act(cluster_id: int) -> _Acted:
    with _sole_actor(cluster_id) as alone:
        row = Cluster.objects.filter(pk=cluster_id).first() if alone else None
        if row is None:
            _hosts.pop(cluster_id, None)
            return _Acted(None)
        clock = Clock.of(row)
        host = _host_of(row)
        if host is None:
            return _Acted(timekeeper.advance(cluster_id, answered=None, due=None), clock.is_stepped)
        now = clock.now(wall_us())
        try:
            host.step(now, row.rv)
            due_in = None if host.due is None else max(0.0, (host.due - now) / follow.MICROSECOND)
            if due_in is None or due_in > 0:
                host.save()
        except follow.LogClearedError:
            _hosts.pop(cluster_id, None)
            return _Acted(0.0)  # begin again with what is stored
        except BaseException:
            _hosts.pop(cluster_id, None)
            raise
        if clock.is_stepped:
            return _Acted(timekeeper.advance(cluster_id, answered=host.rv, due=host.due), True)
        return _Acted(due_in)


def _host_of(row: Cluster) -> ControllerHost | None:
    """The controllers of a simulated cluster."""
    if row.lifecycle_mode != LifecycleMode.SIMULATE:
        _hosts.pop(row.pk, None)
        return None
    host = _hosts.get(row.pk)
    if host is None or host.external != row.external_controllers:
        host = _hosts[row.pk] = ControllerHost.build(row.pk)
    return host


@contextlib.contextmanager
def _sole_actor(cluster_id: int) -> Iterator[bool]:
    """Hold the cluster's advisory lock for the block; False when another worker acts on the cluster."""
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
