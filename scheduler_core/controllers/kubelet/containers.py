"""The containers of one pod moving through time: init containers in order, ends, restarts, back-off.

    waiting ──its turn──▶ running ──run time, or memory above its limit──▶ ended ──restart policy──▶ running
                                                                            └──▶ waiting (CrashLoopBackOff) ──▶ running

All is read from the status of the pod and from its annotations, so whoever looks later comes to the same. When the
containers proper have ended for good, sidecars end with them. Times are microseconds.

Source: kubernetes v1.34.1, pkg/kubelet/kuberuntime (computePodActions), pkg/kubelet/kubelet_pods.go (getPhase).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from scheduler_core.api.pod import Container, ContainerStateTerminated, ContainerStatus, Pod
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.annotations import Runs, runs_of
from scheduler_core.controllers.kubelet.pod_usage import memory_exceeded_us
from scheduler_core.controllers.kubelet.restarts import back_off_told, delay_us, should_restart

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
CONTAINER_CREATING: Final = "ContainerCreating"
POD_INITIALIZING: Final = "PodInitializing"
CRASH_LOOP: Final = "CrashLoopBackOff"
OOM_KILLED: Final = "OOMKilled"
KILLED_BY_SIGNAL: Final = 137
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"


class Exit(msgspec.Struct, frozen=True, gc=False):
    """How a run ended."""

    code: int
    reason: str
    started: int
    finished: int


class Run(msgspec.Struct, frozen=True, gc=False):
    """One container: running since `started`, ended for good by `exit`, or else waiting."""

    started: int | None = None
    exit: Exit | None = None
    last: Exit | None = None  # how the run before ended
    restarts: int = 0
    back_off_us: int | None = None  # waits so long from the end of the run before

    @property
    def is_running(self) -> bool:
        return self.started is not None and self.exit is None

    @property
    def has_started(self) -> bool:
        return self.started is not None or self.exit is not None or self.last is not None


class _Member:
    """A container of the pod with how its runs go."""

    __slots__ = ("container", "is_init", "run", "runs")

    def __init__(self, container: Container, is_init: bool, run: Run, runs: Runs) -> None:
        self.container, self.is_init, self.run, self.runs = container, is_init, run, runs

    @property
    def is_sidecar(self) -> bool:
        return self.is_init and self.container.is_restartable_init


class Containers:
    """The containers of a pod as its status says they are; `not_before`: no restart is made earlier than that."""

    def __init__(self, pod: Pod, not_before: int = 0) -> None:
        self.pod = pod
        self.reason = ""  # why the whole pod ended, where its containers are not the reason
        self.backs_off: list[str] = []  # containers that began to wait for a restart
        self._not_before = not_before
        told = {
            one.name: one
            for one in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
        }
        self._members = [
            _Member(one, is_init, _read(told.get(one.name)), runs_of(pod, one, is_init=is_init))
            for is_init, listed in ((True, pod.spec.init_containers or ()), (False, pod.spec.containers))
            for one in listed
        ]

    def __iter__(self) -> Iterator[tuple[Container, bool, Run]]:
        """Each container, whether it is an init container, and how it is."""
        return ((one.container, one.is_init, one.run) for one in self._members)

    def start(self, at: int) -> None:
        """Start what is first."""
        self._settle(at)

    def restart(self, at: int, exit_of: Callable[[Run], Exit]) -> None:
        """Let every running container have ended, and start anew from the first init container as the policy says."""
        for one in self._members:
            run = one.run
            if one.is_init and not one.is_sidecar:
                one.run = Run(restarts=run.restarts + run.has_started, last=run.exit or run.last)
            elif run.is_running:
                ended = exit_of(run)
                if should_restart(one.container, self._policy, ended.code, is_init=one.is_init):
                    one.run = Run(last=ended, restarts=run.restarts + 1)
                else:
                    one.run = Run(started=run.started, exit=ended, last=run.last, restarts=run.restarts)
        self._settle(at)

    def end_all(self, at: int, code: int, reason: str = "") -> None:
        """End every running container with this code; those that never ran stay as they are."""
        for one in self._members:
            if one.run.is_running:
                one.run = _ended(one.run, Exit(code, reason or _reason(code), one.run.started or at, at))

    def advance(self, now: int) -> None:
        """Let everything happen that is due."""
        while (found := self._next()) is not None and found[0] <= now and not self.is_over:
            found[1](found[0])

    def next_due(self) -> int | None:
        """Return when the next container ends or starts; None when none does."""
        found = None if self.is_over else self._next()
        return None if found is None else found[0]

    @property
    def is_over(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)

    @property
    def phase(self) -> str:
        if self.reason:
            return FAILED
        inits = [one for one in self._members if one.is_init and not one.is_sidecar]
        if any(not self._is_done(one) for one in inits):
            failed = any(one.run.exit is not None and one.run.exit.code for one in inits)
            return FAILED if failed else PENDING
        proper = [one.run for one in self._members if not one.is_init]
        if any(not run.has_started for run in proper):
            return PENDING
        if any(one.run.is_running for one in self._members) or any(run.exit is None for run in proper):
            return RUNNING
        return SUCCEEDED if all(run.exit is not None and run.exit.code == 0 for run in proper) else FAILED

    @property
    def is_initialized(self) -> bool:
        """True when the containers proper may run, or have run."""
        return not self.incomplete or any(one.run.has_started for one in self._members if not one.is_init)

    @property
    def incomplete(self) -> list[str]:
        """Names of the init containers that are not through."""
        return [
            one.container.name
            for one in self._members
            if one.is_init and not (one.run.has_started if one.is_sidecar else self._is_done(one))
        ]

    @property
    def unready(self) -> list[str]:
        """Names of sidecars and containers proper that do not run."""
        return [
            one.container.name
            for one in self._members
            if (one.is_sidecar or not one.is_init) and not one.run.is_running
        ]

    @property
    def _policy(self) -> str:
        return self.pod.spec.restart_policy

    def _next(self) -> tuple[int, Callable[[int], None]] | None:
        """What happens next."""
        first: tuple[int, Callable[[int], None]] | None = None
        for one in self._members:
            at = self._time_of(one)
            if at is not None and (first is None or at < first[0]):
                first = at, partial(self._end if one.run.is_running else self._restart, one)
        deadline, started = self.pod.spec.active_deadline_seconds, self.pod.status.start_time
        if deadline is not None and started is not None:
            at = microseconds(started) + deadline * 1_000_000
            if first is None or at < first[0]:
                first = at, self._exceed_deadline
        return first

    def _time_of(self, one: _Member) -> int | None:
        run = one.run
        if run.exit is not None:
            return None
        if run.started is not None:
            lasts = one.runs.duration_us(run.restarts)
            exceeds = memory_exceeded_us(self.pod, one.container)
            spans = [span for span in (lasts, exceeds) if span is not None]
            return run.started + min(spans) if spans else None
        if run.last is not None and run.back_off_us is not None:
            return max(run.last.finished + run.back_off_us, self._not_before)
        return None

    def _end(self, one: _Member, at: int) -> None:
        run = one.run
        assert run.started is not None
        code, reason = one.runs.exit_code(run.restarts), ""
        lasts, exceeds = one.runs.duration_us(run.restarts), memory_exceeded_us(self.pod, one.container)
        if exceeds is not None and (lasts is None or exceeds < lasts):
            code, reason = KILLED_BY_SIGNAL, OOM_KILLED
        ended = Exit(code, reason or _reason(code), run.started, at)
        if (one.runs.completes and not reason) or not should_restart(
            one.container, self._policy, code, is_init=one.is_init
        ):
            one.run = _ended(run, ended)
        else:
            waited = run.started - run.last.finished if run.last is not None else None
            wait = delay_us(at - run.started, waited)
            if wait == 0 and at >= self._not_before:
                one.run = Run(started=at, last=ended, restarts=run.restarts + 1)
            else:
                one.run = Run(last=ended, restarts=run.restarts, back_off_us=wait)
                self.backs_off.append(one.container.name)
        self._settle(at)

    def _restart(self, one: _Member, at: int) -> None:
        one.run = Run(started=at, last=one.run.last, restarts=one.run.restarts + 1)
        if one.container.name in self.backs_off:
            self.backs_off.remove(one.container.name)

    def _exceed_deadline(self, at: int) -> None:
        self.end_all(at, 143)
        self.reason = DEADLINE_EXCEEDED

    def _settle(self, at: int) -> None:
        """Start what has its turn; end the sidecars of a pod that is through."""
        for one in self._members:
            if one.is_init and not one.is_sidecar and not self._is_done(one):
                if not one.run.has_started or self._is_again(one.run):
                    one.run = Run(started=at, last=one.run.last, restarts=one.run.restarts)
                    if self._time_of(one) == at:
                        self._end(one, at)
                return
            if self._is_again(one.run) or not one.run.has_started:
                one.run = Run(started=at, last=one.run.last, restarts=one.run.restarts)
        if all(one.run.exit is not None for one in self._members if not one.is_init):
            self.end_all(at, 0)

    @staticmethod
    def _is_again(run: Run) -> bool:
        """Whether it waits for nothing but its turn."""
        return run.started is None and run.exit is None and run.back_off_us is None

    @staticmethod
    def _is_done(one: _Member) -> bool:
        return one.run.exit is not None and one.run.exit.code == 0


def _ended(run: Run, how: Exit) -> Run:
    return Run(run.started, how, run.last, run.restarts)


def _reason(code: int) -> str:
    return "Error" if code else "Completed"


def _read(told: ContainerStatus | None) -> Run:
    if told is None:
        return Run()
    state = told.state
    last = _exit(told.last_state.terminated) if told.last_state is not None else None
    if state is not None and state.terminated is not None:
        return Run(_us(state.terminated.started_at), _exit(state.terminated), last, told.restart_count)
    if state is not None and state.running is not None:
        return Run(_us(state.running.started_at), None, last, told.restart_count)
    waits = state.waiting if state is not None else None
    back_off = None
    if waits is not None and waits.reason == CRASH_LOOP and last is not None:
        back_off = back_off_told(waits.message)
    return Run(None, None, last, told.restart_count, back_off)


def _exit(told: ContainerStateTerminated | None) -> Exit | None:
    if told is None:
        return None
    return Exit(told.exit_code, told.reason, _us(told.started_at), _us(told.finished_at))


def _us(time: datetime | None) -> int:
    return 0 if time is None else microseconds(time)
