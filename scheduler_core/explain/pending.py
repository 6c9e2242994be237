"""Why a pod is pending: what keeps it from nodes, each reason also by the nodes it alone keeps away, and what wakes it.

Every plugin is asked about every node, whatever the others said of it, on a state of its own: nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from msgspec.structs import replace

from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.filtering import nominated_that_count
from scheduler_core.cycle.runner import PlainRunner
from scheduler_core.explain.again import amounts_of, cycle_witnessed, filters_of
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.runtime import refusal
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.effects import Effects
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import Diagnosis, PodInfo, QueuedPodInfo
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE_TAINT
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.schedule_one import open_cycle
from scheduler_core.scheduler.scheduler import Scheduler

_RUNNER = PlainRunner()
_CORDON = frozenset({names.NODE_UNSCHEDULABLE, names.TAINT_TOLERATION})
_BY_NUMBER = frozenset({AmountKind.RESOURCE, AmountKind.LIMIT})

Reason = tuple[str, str]
"""Plugin and reason."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """A reason: how many nodes it keeps the pod from, and from how many of them it alone does."""

    plugin: str
    reason: str
    nodes: int
    alone: int


@dataclass(frozen=True, slots=True)
class Near:
    """A node that one reason alone keeps the pod from; `amounts`: what it asks there and what there is."""

    node: str
    plugin: str
    reason: str
    amounts: tuple[Amounts, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A pod against every node.

    `reasons`: first those that alone keep away most. `near`: the first of the `num_near` nodes that one reason alone
    keeps the pod from: by the share of what is asked that they lack, then those that lack nothing that is counted.
    `doubt`: where a second run, without the plugin, says otherwise than was worked out here; empty where none does.
    """

    nodes: int
    fitting: int
    reasons: tuple[Keeping, ...]
    near: tuple[Near, ...]
    num_near: int
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Waker:
    """An event that makes a plugin reconsider its refusal; with a hint it looks at what happened before it does."""

    plugin: str
    event: ClusterEvent
    has_hint: bool


def attempt_judged(scheduler: Scheduler, step: RecordedStep, place: int, limit: int) -> tuple[Effects, Judged | None]:
    """Make a recorded step again up to its attempt at this place and judge its pod; None: it ended before filtering."""
    found: list[Judged] = []
    effects = cycle_witnessed(scheduler, step, place, lambda cycle, _: found.append(judged(cycle, limit)))
    return effects, found[0] if found else None


def cycle_now(engine: Engine, pod: Pod) -> Cycle | None:
    """The cycle the pod would have if it were tried now; None where it would have none.

    The snapshot is brought up to date, and the effects of the engine's last step are lost.
    """
    engine.effects = Effects()
    _, cycle = open_cycle(engine, QueuedPodInfo(pod, engine.now, attempts=1))
    if cycle is None or engine.snapshot.update_snapshot(engine.cache):
        return None
    cycle.view = engine.node_view()
    return cycle


def fitting(cycle: Cycle) -> Iterator[str]:
    """The nodes that the pod fits on, as the engine's filters say; extenders are not asked."""
    plain = _plain(cycle)
    outcome = _RUNNER.pre_filter(plain)
    if not outcome.status.is_success:
        return
    for info in plain.view.infos:
        if outcome.node_names is not None and info.name not in outcome.node_names:
            continue
        if plain.profile.run_filters_with_nominated_pods(plain.state, plain.pod, info, plain.nominated).is_success:
            yield info.name


def judged(cycle: Cycle, limit: int) -> Judged:
    """The cycle's pod against every node; `limit`: nodes that are told of one by one."""
    plain = _plain(cycle)
    nodes, alone, fit = Counter[Reason](), Counter[Reason](), []
    near: list[tuple[int, Near]] = []
    for place, info, there, refusals, asked in _refusals(plain):
        found = list(dict.fromkeys((plugin, text) for plugin, each in refusals.items() for text in _reasons(each)))
        nodes.update(found)
        if not found:
            fit.append(info.name)
        if len(found) == 1:
            alone.update(found)
            ((plugin, text),) = found
            told = amounts_of(plain, info, there, refusals[plugin]) if plugin in asked else None
            near.append((place, Near(info.name, plugin, text, told or ())))
    reasons = sorted(nodes, key=lambda reason: (-alone[reason], -nodes[reason], reason))
    near.sort(key=lambda each: (*_distance(each[1]), reasons.index((each[1].plugin, each[1].reason)), each[0]))
    first = tuple(each for _, each in islice(near, limit))
    return Judged(
        nodes=len(plain.view.infos),
        fitting=len(fit),
        reasons=tuple(Keeping(*reason, nodes[reason], alone[reason]) for reason in reasons),
        near=first,
        num_near=len(near),
        doubt=_doubt(cycle, fit, first),
    )


def keeping(cycle: Cycle) -> Iterator[tuple[str, frozenset[str]]]:
    """Of each node the plugins that keep the cycle's pod from it."""
    for _, info, _, refusals, _ in _refusals(_plain(cycle)):
        yield info.name, frozenset(refusals)


def wakers(engine: Engine, profile: str, plugins: frozenset[str]) -> tuple[Waker, ...]:
    """What would make pods of a profile be tried again that these plugins rejected."""
    hints = engine.queue.requeuing.hint_maps.get(profile)
    registered = hints.registrations if hints is not None else ()
    return tuple(Waker(each.plugin, each.event, each.hint is not None) for each in registered if each.plugin in plugins)


def _plain(cycle: Cycle) -> Cycle:
    """The same with a state of its own, of the node form."""
    return replace(cycle, state=CycleState(), diagnosis=Diagnosis())


def _refusals(
    plain: Cycle,
) -> Iterator[tuple[int, NodeInfo, Sequence[PodInfo], dict[str, Status], frozenset[str]]]:
    """Of each node by its place: nominated pods that count there, who refuses it, which of these looked at it."""
    everywhere, named = _pre_filters(plain)
    nominated = nominated_that_count(plain)
    for place, info in enumerate(plain.view.infos):
        there = nominated.get(place, ())
        refusals = dict(everywhere)
        refusals |= {plugin: status for plugin, status in filters_of(plain, info, there) if not status.is_success}
        _uncordon(plain, info, refusals)
        asked = frozenset(refusals.keys() - everywhere.keys())
        for plugin, left in named.items():
            if info.name not in left and plugin not in refusals:
                refusals[plugin] = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{plugin}]", plugin=plugin)
        yield place, info, there, refusals, asked


def _pre_filters(plain: Cycle) -> tuple[dict[str, Status], dict[str, frozenset[str]]]:
    """Of every plugin, whatever the others say: who refuses all nodes, and who leaves which.

    The cycle's own way ends with the first that nothing can help.
    """
    everywhere, named, skipped = {}, {}, set()
    for plugin in plain.profile.pre_filter:
        result, status = plugin.pre_filter(plain.state, plain.pod, plain.view.infos)
        if status.is_skip:
            skipped.add(plugin.name)
        elif not status.is_success:
            everywhere[plugin.name] = status
        elif result is not None and result.node_names is not None:
            named[plugin.name] = result.node_names
    plain.state.skip_filter_plugins = frozenset(skipped | everywhere.keys())
    return everywhere, named


def _uncordon(plain: Cycle, info: NodeInfo, refusals: dict[str, Status]) -> None:
    """A cordon brings a taint, and goes with it: what is refused for the taint alone is refused for the cordon."""
    if not refusals.keys() >= _CORDON or info.node is None:
        return
    spec = info.node.spec
    others = tuple(taint for taint in info.node.taints if taint != UNSCHEDULABLE_TAINT)
    bare = NodeInfo(lambda: 0, replace(info.node, spec=replace(spec, taints=others)))
    (tolerates,) = (each for each in plain.profile.filter if each.name == names.TAINT_TOLERATION)
    said = tolerates.filter(plain.state, plain.pod, bare)
    if said.is_success:
        del refusals[names.TAINT_TOLERATION]
    else:
        refusals[names.TAINT_TOLERATION] = refusal(names.TAINT_TOLERATION, said)


def _reasons(status: Status) -> tuple[str, ...]:
    return tuple(status.reasons) or (status.message,)


def _distance(near: Near) -> tuple[bool, Fraction]:
    """Less is nearer: the share of what is asked that is lacking, after that nodes that lack nothing counted."""
    lacks = [
        Fraction(each.asked - each.there, each.asked)
        for each in near.amounts
        if each.kind in _BY_NUMBER and each.asked and each.there is not None
    ]
    return not lacks, max(lacks, default=Fraction(0))


def _with_taint(plugin: str) -> Iterable[str]:
    return _CORDON if plugin == names.NODE_UNSCHEDULABLE else (plugin,)


def _doubt(cycle: Cycle, fit: list[str], near: tuple[Near, ...]) -> str:
    """Run the filters as the engine does: over all nodes, and without the plugin that alone keeps a node away."""
    if list(fitting(cycle)) != fit:
        return f"{len(fit)} nodes fit by each filter, {len(list(fitting(cycle)))} by the engine"
    without: Mapping[str, list[str]] = {
        plugin: list(fitting(replace(cycle, profile=cycle.profile.without(*_with_taint(plugin)))))
        for plugin in {each.plugin for each in near}
    }
    for each in near:
        if each.node not in without[each.plugin]:
            return f"{each.node} is refused without {each.plugin} as well"
    return ""
