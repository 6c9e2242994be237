"""A cluster in memory under a virtual clock: an API server's store, a scheduler, controllers.

Time jumps to whatever is due next. What the engine and the controllers ask for is carried out by the rules of the API
server, so a world decides nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

from scheduler_core.admission.optional import DEFAULT_PLUGINS
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.effects import (
    bind_request,
    claim_requests,
    claim_verdicts,
    evict_request,
    status_request,
    write_requests,
)
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Delete, Request
from scheduler_core.apiserver.server import Answer, ApiServer
from scheduler_core.apiserver.store import ObjectChange, Operation
from scheduler_core.controllers.controller import Controller, next_due, tell
from scheduler_core.controllers.namespaces import NamespaceController
from scheduler_core.model.changes import BindingVerdict, Change, EvictionVerdict
from scheduler_core.model.effects import Effects, EvictionRequest
from scheduler_core.scheduler.scheduler import Budget, Scheduler

STEP = Budget(max_cycles=500)


def _ignore(effects: Effects) -> None:
    pass


class World:
    """One cluster at `now` (microseconds).

    `watch` is shown the effects of each step of the scheduler. Where no kubelet ends pods, `evict_gracefully` False
    makes evicted ones disappear at once. `plugins`: see `AdmissionContext`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        controllers: Sequence[Controller] = (),
        *,
        now: int,
        watch: Callable[[Effects], None] = _ignore,
        evict_gracefully: bool = True,
        plugins: frozenset[str] = DEFAULT_PLUGINS,
    ) -> None:
        self.store = MemoryStore()
        self.scheduler = scheduler
        self.controllers = controllers
        self.now = now
        keeps_namespaces = any(isinstance(each, NamespaceController) for each in controllers)
        self._server = ApiServer(self.store, _new_uid(count(1)), keeps_namespaces=keeps_namespaces, plugins=plugins)
        self._watch = watch
        self._evict_gracefully = evict_gracefully
        self._read = 0  # position in the store's log
        self._changes: list[Change] = []  # read from there, and verdicts, that nobody has been told of yet

    def load(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        """Put in objects as they are, without admission; each has a uid."""
        changes = [ObjectChange(Operation.CREATED, dict(manifest)) for manifest in manifests]
        self.store.commit(changes, self.now)

    def request(self, *requests: Request) -> list[Answer]:
        """Let the API server carry out what anybody asks for."""
        return self._server.carry_out(requests, self.now)

    def run_until(self, time: int) -> None:
        """Do all that is due up to that time, which it then is."""
        while True:
            effects = self.step()
            if effects.more or self.has_changes:
                continue
            due = self.next_due()
            if due is None or due > time:
                self.now = max(self.now, time)
                return
            self.now = max(self.now, due)

    def step(self, budget: Budget = STEP) -> Effects:
        """Tell controllers and scheduler what changed, and carry out what they ask for."""
        changes = self.take_changes()
        for controller in self.controllers:
            requests = controller.step(self.now, changes)
            if requests:
                tell(controller, self.now, requests, self.request(*requests))
        effects = self.scheduler.step(self.now, changes, budget)
        self._watch(effects)
        self.carry_out(effects)
        return effects

    @property
    def has_changes(self) -> bool:
        """True when controllers and scheduler have not been told of everything yet."""
        return bool(self._changes) or self._read < self.store.rv

    def next_due(self) -> int | None:
        """Return when the next thing happens without a change from outside; None when nothing will."""
        times = (next_due(self.controllers), self.scheduler.next_due(self.now))
        return min((time for time in times if time is not None), default=None)

    def carry_out(self, effects: Effects) -> None:
        """Do what the engine asks for, and keep the verdicts for it."""
        requests: list[Request] = [status_request(patch) for patch in effects.status_patches]
        requests += chain.from_iterable(map(write_requests, effects.writes))
        if requests:
            self.request(*requests)
        if effects.claim_writes:
            answers = self.request(*claim_requests(effects.claim_writes))
            self._read_log()
            self._changes += claim_verdicts(effects.claim_writes, answers)
        if effects.evictions:
            answers = self.request(*map(evict_request, effects.evictions))
            if not self._evict_gracefully:
                self.request(*(Delete(evict_request(each).key, 0, uid=each.pod_uid) for each in effects.evictions))
            self._read_log()
            self._changes += _eviction_verdicts(effects.evictions, answers)
        if effects.bindings:
            answers = self.request(*map(bind_request, effects.bindings))
            self._read_log()
            for binding, answer in zip(effects.bindings, answers, strict=True):
                message = answer.status.message if isinstance(answer, Refused) else ""
                self._changes.append(BindingVerdict(binding.pod_uid, binding.node_name, not message, message))

    def take_changes(self) -> list[Change]:
        """Return what happened since this was last asked: objects and verdicts, a verdict after its objects."""
        self._read_log()
        changes, self._changes = self._changes, []
        return changes

    def _read_log(self) -> None:
        self._changes += self.store.changes_after(self._read)
        self._read = self.store.rv
        self.store.clear_log(self._read)


def _eviction_verdicts(evictions: Sequence[EvictionRequest], answers: Sequence[Answer]) -> Iterator[EvictionVerdict]:
    for preemptor_uid in dict.fromkeys(eviction.preemptor_uid for eviction in evictions):
        of_preemptor = [
            (eviction.pod_uid, isinstance(answer, Refused))
            for eviction, answer in zip(evictions, answers, strict=True)
            if eviction.preemptor_uid == preemptor_uid
        ]
        uids = tuple(uid for uid, _ in of_preemptor)
        gone = tuple(uid for uid, is_gone in of_preemptor if is_gone)
        yield EvictionVerdict(preemptor_uid, True, pod_uids=uids, gone_uids=gone)


def _new_uid(numbers: Iterator[int]) -> Callable[[], str]:
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012x}"
