"""Why a pod was evicted for another: what each node would have cost, and why nobody spared it on the one taken.

The nodes are those that the search found; each is tried once more, node by node, at the moment of the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from scheduler_core.api.derived import start_time_us
from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.filtering import nominated_that_count
from scheduler_core.cycle.runner import PlainRunner
from scheduler_core.errors import ExtenderError
from scheduler_core.explain.again import amounts_of, cycle_witnessed
from scheduler_core.explain.trials import Trials
from scheduler_core.framework import extender_messages
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.extender_messages import MetaVictims
from scheduler_core.model.amounts import Amounts
from scheduler_core.model.effects import Effects, ExtenderExchange
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import Diagnosis, PodInfo
from scheduler_core.preemption.criteria import NAMES, Candidate, best_of, values_of
from scheduler_core.preemption.trial import Question, fits_without, importance
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler

_RUNNER = PlainRunner()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a node would have cost: `values` of the criteria in their order, the smallest being the best.

    `falls_by`: the first criterion at which it costs more than the one taken; empty for that, for its equals, and where
    extenders `left_out` the node. Victims are those that extenders wanted, where they were asked.
    """

    node: str
    victims: tuple[str, ...]
    values: tuple[int, ...]
    falls_by: str
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A budget that covers a pod: the pod is number `place` of those it covers on the node, and it allows `allowed`."""

    namespace: str
    name: str
    allowed: int
    place: int


@dataclass(frozen=True, slots=True)
class LowerPod:
    """A pod of lower priority on the node taken, as it was tried to be spared.

    `status`: what refused the preemptor with it there, beside those spared before it; Success where it was spared.
    `alone`: the preemptor fits beside it when all other lower pods go. `needless`: it fits beside it when the other
    victims go, so that this one need not have gone.
    """

    key: str
    priority: int
    started: int | None  # microseconds
    budgets: tuple[Counted, ...]
    violates: bool
    status: Status
    amounts: tuple[Amounts, ...]
    alone: bool
    needless: bool

    @property
    def spared(self) -> bool:
        return self.status.is_success


@dataclass(frozen=True, slots=True)
class Evicting:
    """A search for victims made again: `costs` in the order of the search, `pods` in the order of their trial.

    `pods` is empty where extenders wanted others to go than the search had found. `decided_by`: the criterion that left
    the best alone, empty where there was one or where equals were left. `doubt`: what a second
    run says otherwise than the trial; empty where it says the same.
    """

    priority: int  # of the preemptor
    best: str
    decided_by: str
    tied: int
    costs: tuple[Cost, ...]
    pods: tuple[LowerPod, ...]
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a record says of a search: the candidates in its order, the node taken, what extenders said to them."""

    nodes: Sequence[str]
    taken: str
    exchanges: Sequence[ExtenderExchange] = ()


def evicting_again(
    scheduler: Scheduler, step: RecordedStep, place: int, searched: Searched
) -> tuple[Effects, Evicting | None]:
    """Make a recorded step again up to its attempt at this place, and try the candidates for victims.

    The victims of the node taken are told of one by one. None: it ended before filtering, or there is no search.
    """
    found: list[Evicting | None] = []
    effects = cycle_witnessed(
        scheduler, step, place, lambda cycle, _: found.append(evicting(scheduler.engine, cycle, searched))
    )
    return effects, found[0] if found else None


def evicting(engine: Engine, cycle: Cycle, searched: Searched) -> Evicting | None:
    """The search of a cycle whose filters have run, among nodes that are known to be candidates."""
    nodes, taken = searched.nodes, searched.taken
    plain = replace(cycle, state=CycleState(), diagnosis=Diagnosis())
    _RUNNER.pre_filter(plain)
    trials = Trials(engine, plain, cycle.diagnosis)
    places = [plain.view.index.get(name) for name in nodes]
    if trials.question is None or None in places:
        return None
    candidates: list[Candidate] = []
    pods: tuple[LowerPod, ...] = ()
    doubts: list[str] = []
    for place in places:
        assert place is not None
        info = plain.view.infos[place]
        tried = _Tried(plain, trials, place)
        found = trials.candidate(info, tried.watch if info.name == taken else None)
        if not isinstance(found, Candidate):
            doubts.append(f"{info.name} is no candidate when it is tried again")
            continue
        candidates.append(found)
        if info.name == taken:
            pods = tried.pods(found)
            doubts += tried.doubts(found, pods)
    wanted = _wanted(candidates, plain, searched.exchanges)
    if not wanted:
        return None
    if any(each.node_name == taken and each not in candidates for each in wanted):
        pods = ()
    values = values_of(wanted, engine.now)
    best, decided_by = best_of(values)
    first = values[:, best[0]].tolist()
    named = {each.node_name for each in wanted}
    left_out = [each for each in candidates if each.node_name not in named]
    others = values_of(left_out, engine.now)
    return Evicting(
        priority=trials.question.pod.priority,
        best=wanted[int(best[0])].node_name,
        decided_by=decided_by,
        tied=len(best),
        costs=(
            *(_cost(each, values[:, line].tolist(), first) for line, each in enumerate(wanted)),
            *(_cost(each, others[:, line].tolist(), None) for line, each in enumerate(left_out)),
        ),
        pods=pods,
        doubt=doubts[0] if doubts else "",
    )


def _wanted(candidates: list[Candidate], plain: Cycle, exchanges: Sequence[ExtenderExchange]) -> list[Candidate]:
    """The candidates among which was chosen: as they are, or as the last extender that answered wanted them."""
    for exchange in reversed(exchanges):
        if exchange.point != "preempt" or exchange.answer is None:
            continue
        try:
            left = extender_messages.read_victims(exchange.answer)
        except ExtenderError:
            continue  # it was passed over, as it may fail
        names = [name for name, each in left.items() if each.uids]
        if any(name not in plain.view.index for name in names):
            continue
        known = {each.node_name: each for each in candidates}
        return [
            _as_wanted(known.get(name), plain.view.infos[plain.view.index[name]], left[name])
            for name in (*(name for name in known if name in names), *(name for name in names if name not in known))
        ]
    return candidates


def _as_wanted(own: Candidate | None, info: NodeInfo, victims: MetaVictims) -> Candidate:
    """The candidate with the victims of an extender; the same one where they are its own."""
    found = {each.pod.uid: each.pod for each in info.pods}
    pods = tuple(found[uid] for uid in victims.uids if uid in found)
    if own is not None and (own.victims, own.num_pdb_violations) == (pods, victims.num_pdb_violations):
        return own
    return Candidate(info.name, pods, victims.num_pdb_violations)


def _cost(candidate: Candidate, values: Sequence[int], first: Sequence[int] | None) -> Cost:
    """`first`: the values of the best; None for a node that was left out."""
    apart = (name for name, value, best in zip(NAMES, values, first or values, strict=True) if value != best)
    return Cost(candidate.node_name, _keys(candidate.victims), tuple(values), next(apart, ""), first is None)


def _keys(pods: Iterable[Pod]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods)


class _Tried:
    """The lower pods of one node, in the order in which they are put back."""

    def __init__(self, plain: Cycle, trials: Trials, place: int) -> None:
        assert trials.question is not None
        self._plain = plain
        self._question: Question = trials.question
        self._pdbs: Sequence[PodDisruptionBudget] = trials.budgets
        self._info = plain.view.infos[place]
        self._nominated = nominated_that_count(plain).get(place, ())
        self._seen: list[tuple[Pod, Status, tuple[Amounts, ...]]] = []

    def watch(self, info: PodInfo, status: Status, state: CycleState, node_info: NodeInfo) -> None:
        plain = replace(self._plain, state=state)
        found = None if status.is_success else amounts_of(plain, node_info, self._nominated, status)
        self._seen.append((info.pod, status, found or ()))

    def pods(self, found: Candidate) -> tuple[LowerPod, ...]:
        """What is to be told of each; the node itself is not changed."""
        budgets, lower, victims = self._budgets(), self._lower(), frozenset(_keys(found.victims))
        return tuple(
            LowerPod(
                key=pod.key,
                priority=pod.priority,
                started=None if pod.status.start_time is None else start_time_us(pod, self._question.now),
                budgets=budgets[pod.key],
                violates=any(each.place > each.allowed for each in budgets[pod.key]),
                status=status,
                amounts=amounts,
                alone=self._fits(lower - {pod.key}),
                needless=pod.key in victims and self._fits(victims - {pod.key}),
            )
            for pod, status, amounts in self._seen
        )

    def doubts(self, found: Candidate, pods: Sequence[LowerPod]) -> list[str]:
        """What does not go together: the victims and who was not spared, the budgets, and a run without the victims."""
        victims = frozenset(_keys(found.victims))
        doubts = []
        if {pod.key for pod in pods if not pod.spared} != victims:
            doubts.append("the victims are not those that were not spared")
        if sum(pod.violates for pod in pods if not pod.spared) != found.num_pdb_violations:
            doubts.append("the violations of budgets are counted otherwise")
        if not self._fits(victims):
            doubts.append(f"without its victims {found.node_name} is refused")
        return doubts

    def _fits(self, gone: frozenset[str]) -> bool:
        return fits_without(self._question, self._info.copy(), gone).is_success

    def _lower(self) -> frozenset[str]:
        return frozenset(each.pod.key for each in self._info.pods if each.pod.priority < self._question.pod.priority)

    def _budgets(self) -> dict[str, tuple[Counted, ...]]:
        """By key of a lower pod: the budgets that cover it. They are counted down from the most important on."""
        lower = self._lower()
        pods = [each.pod for each in self._info.pods if each.pod.key in lower]
        pods.sort(key=lambda pod: importance(pod, self._question.now))
        found: dict[str, tuple[Counted, ...]] = {pod.key: () for pod in pods}
        for pdb, budget in zip(self._pdbs, self._question.budgets, strict=True):
            counted = [pod for pod in pods if pod.labels and budget.counts(pod)]
            for place, pod in enumerate(counted, 1):
                found[pod.key] += (Counted(pdb.namespace, pdb.name, budget.disruptions_allowed, place),)
        return found
