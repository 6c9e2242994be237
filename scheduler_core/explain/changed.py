"""What the filters say of every node, so that two attempts at one pod can be compared: which nodes changed verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.runner import PlainRunner
from scheduler_core.explain.again import cycle_witnessed
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.hints import EXTENDER
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import Diagnosis
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler

_RUNNER = PlainRunner()

Verdicts = Mapping[str, Status]
"""By name of the node, in node order; Success where the pod fits."""


def attempt_verdicts(scheduler: Scheduler, step: RecordedStep, place: int) -> tuple[Effects, Verdicts | None]:
    """Make a recorded step again up to its attempt at this place; None: it ended before its filters did."""
    found: list[Verdicts] = []
    effects = cycle_witnessed(scheduler, step, place, lambda cycle, _: found.append(verdicts(cycle)))
    return effects, found[0] if found else None


def verdicts(cycle: Cycle) -> Verdicts:
    """What the filters say of every node, those never looked at among them; extenders are not asked."""
    plain = replace(cycle, state=CycleState(), diagnosis=Diagnosis())
    outcome = _RUNNER.pre_filter(plain)
    if not outcome.status.is_success:
        return {info.name: outcome.status for info in plain.view.infos}
    left_out = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(outcome.plugins_with_nodes)}]")
    return {
        info.name: plain.profile.run_filters_with_nominated_pods(plain.state, plain.pod, info, plain.nominated)
        if outcome.node_names is None or info.name in outcome.node_names
        else left_out
        for info in plain.view.infos
    }


def changed(before: Verdicts, after: Verdicts) -> Iterator[str]:
    """The nodes of which the two say something else, or which only one has: first those of the later one."""
    yield from (name for name, status in after.items() if before.get(name) != status)
    yield from (name for name in before if name not in after)


def recorded(attempt: Attempt) -> Verdicts:
    """What an attempt says of the nodes that it looked at."""
    rows, order = attempt.filter_rows, attempt.node_order
    if rows is None or order is None:
        return {}
    return {
        order.names[node]: rows.statuses[code - 1] if code else SUCCESS
        for node, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True)
    }


def doubtful(found: Verdicts, then: Verdicts) -> str:
    """The first node that was looked at of which the record says otherwise; empty: none. Extenders aside."""
    for name, status in then.items():
        if status.plugin != EXTENDER and found.get(name, SUCCESS) != status:
            return name
    return ""
