"""Which moment is asked for (`at`), and its opening: so many at a time, as each may take a second of a core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from kschedweb.cluster import clock, selectors
from kschedweb.common.errors import ApplicationError, BusyError, InvalidError
from kschedweb.common.turns import Turns
from kschedweb.scheduling.past import anonymising, exporting, moments, planning
from kschedweb.scheduling.past.errors import FutureError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.lists import ListThen, list_then
from kschedweb.scheduling.past.moments import EngineThen, ObjectsThen, Position
from kschedweb.scheduling.past.standing import Now, Standing, Then
from kschedweb.traces.models import Checkpoint
from scheduler_core.api.times import moment_of

MOST_DIGITS = 18  # of a number that the database holds
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
FORMS = "expected a position (120.4711), a time (2026-11-25T22:55:00Z) or how long ago (10m ago)"
FIRST_YEAR = 1970
OF_A_MIRRORS_CACHE = (
    "the scheduler of a mirrored cluster runs elsewhere, and tells nobody which pods it has assumed; the engine here"
    " decides nothing, and its cache is not kept. The pods on each node are in the lists"
)
OUTSIDE = "is before 1970 or after the last year that there is"
WAIT_SECONDS = 20.0
MOMENT_SECONDS = 2.0  # a question that an engine is kept for takes less
MOST_OPEN = 4  # requests that wait for a moment or read one; those beyond are refused at once
MOST_ANONYMISED = 50_000  # cycles of a file whose names are replaced: its steps are made again meanwhile
OPENING = Turns(MOST_OPEN)
READING = Turns(1)  # moments of a process are read one after the other
ANONYMISING = Turns(1)
POSITION, TIME = "Ksched-Position", "Ksched-Time"  # headers of answers about the past

T = TypeVar("T")


class NoMomentError(ApplicationError):
    """A text names no moment, or one that has not come yet; `name` is that of the parameter."""

    code = "invalid"

    def __init__(self, problem: str, name: str = "at") -> None:
        super().__init__(f"{name}: {problem}", fields={name: [problem]})
        self.problem = problem


def position_of(text: str) -> Position | None:
    """The position of both logs that a text names, as in 120.4711."""
    rv, _, seq = text.partition(".")
    if not all(part.isascii() and part.isdigit() and len(part) <= MOST_DIGITS for part in (rv, seq)):
        return None
    return Position(int(rv), int(seq))


def time_of(text: str, now: datetime) -> datetime:
    """The time that a text names, in the cluster's time; without a zone it is UTC. NoMomentError."""
    try:
        if text.endswith(" ago"):
            amount = text.removesuffix(" ago").rstrip()
            number, unit = amount[:-1].rstrip(), amount[-1:]
            if unit not in UNITS or not (number.isascii() and number.isdigit()):
                raise NoMomentError(FORMS)
            found = now - timedelta(**{UNITS[unit]: int(number)})
        else:
            found = datetime.fromisoformat(text)
            found = found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except OverflowError:
        raise NoMomentError(OUTSIDE) from None
    except ValueError:
        raise NoMomentError(FORMS) from None
    if found.year < FIRST_YEAR:
        raise NoMomentError(OUTSIDE)
    return found


@contextmanager
def turn() -> Iterator[None]:
    """A turn with the engines of the past, which are led one after the other; TooManyError when too many wait."""
    with OPENING.one(0), READING.one(WAIT_SECONDS):
        yield


@contextmanager
def turn_now() -> Iterator[None]:
    """The same for who would rather ask again than wait: BusyError after a moment, also when too many wait."""
    with OPENING.within(0) as is_let_in, READING.within(MOMENT_SECONDS if is_let_in else 0) as has_turn:
        if not (is_let_in and has_turn):
            raise BusyError("another question like this one, or about the past, is being answered: ask again")
        yield


@contextmanager
def standing(cluster_id: int, at: str | None, *, of_objects: bool = False) -> Iterator[Standing]:
    """The cluster as it is, or as it was `at` a position or a time of its clock; `of_objects`: without the scheduler.

    ClusterGoneError; NoMomentError, TooManyError; HistoryCutError and NotReplayableError as of a moment.
    """
    if at is None:
        yield Now(cluster_id)
        return
    if of_objects:
        with objects(cluster_id, at) as then:
            yield Then(then.without_engine)
        return
    with _asked(cluster_id, at, moments.moment) as found:
        yield Then(found)


@contextmanager
def engine(cluster_id: int, at: str | None) -> Iterator[EngineThen]:
    """The engine made again `at` a moment; None: at the end of both logs, where it is now. Raises as `standing`."""
    cluster = selectors.cluster_get(cluster_id)
    if cluster.is_mirror:
        raise NotReplayableError(OF_A_MIRRORS_CACHE)
    if at is None:
        at = f"{cluster.rv}.{cluster.seq}"
    with _asked(cluster_id, at, moments.engine_then) as found:
        yield found


@contextmanager
def objects(cluster_id: int, at: str) -> Iterator[ObjectsThen]:
    """The objects of the cluster as they were; raises as `standing` does, but for NotReplayableError."""
    with _asked(cluster_id, at, moments.objects_then) as found:
        yield found


def listed(cluster_id: int, what: str, at: str) -> ListThen:
    """What a list was read from; raises as `standing` does, for lists other than that of pods as `objects`."""
    if what == "pods":
        with _asked(cluster_id, at, moments.moment) as moment:
            return Then(moment).list_of_pods()
    with objects(cluster_id, at) as found:
        return list_then(what, found)


def located(cluster_id: int, at: str) -> tuple[Position, datetime]:
    """The position of both logs and the time that `at` stands for; raises as `objects` does."""
    with _asked(cluster_id, at, lambda **wanted: nullcontext(moments.located(**wanted))) as (position, time):
        return position, moment_of(time)


@contextmanager
def _asked(cluster_id: int, at: str, opened: Callable[..., AbstractContextManager[T]]) -> Iterator[T]:
    """What is opened at the moment that a text names, with refusals in its words."""
    position = position_of(at)
    time = time_of(at, moment_of(clock.now_of(cluster_id))) if position is None else None
    with turn(), ExitStack() as stack:
        try:
            found = stack.enter_context(opened(cluster_id=cluster_id, position=position, at=time))
        except FutureError as error:
            raise NoMomentError(error.message) from None
        except HistoryCutError as error:
            raise _since(cluster_id, error) from None
        yield found


def export_planned(cluster_id: int, span: Mapping[str, str]) -> planning.Plan:
    """What the file of a span is to hold, `from` one moment `to` another; of one that is not given all there is.

    Raises as `standing` does, and InvalidError for a span that ends before it begins.
    """
    found: dict[str, Position | None] = {"from": None, "to": None}
    now = moment_of(clock.now_of(cluster_id))
    with turn():
        for name, said in span.items():
            try:
                found[name] = position_of(said) or moments.position_at(cluster_id, time_of(said, now))
            except NoMomentError as error:
                raise NoMomentError(error.problem, name) from None
            except FutureError as error:
                raise NoMomentError(error.message, name) from None
        try:
            return planning.planned(cluster_id=cluster_id, first=found["from"], last=found["to"])
        except FutureError as error:
            raise NoMomentError(error.message, "to" if found["to"] is not None else "from") from None
        except HistoryCutError as error:
            raise _since(cluster_id, error) from None


def anonymised(plan: planning.Plan) -> Iterator[bytes]:
    """The file of a span with other names; all of it is made before this returns, one at a time in a process.

    InvalidError for a longer span than is made so; TooManyError; NotReplayableError.
    """
    if plan.head.cycles > MOST_ANONYMISED:
        many = f"{plan.head.cycles:,} cycles; names are replaced in {MOST_ANONYMISED:,} at most: choose a shorter span"
        raise InvalidError(many, fields={"anonymise": [many]})
    with ANONYMISING.one(WAIT_SECONDS):
        return iter(list(anonymising.anonymised(b"".join(exporting.written(plan)))))


def _since(cluster_id: int, error: HistoryCutError) -> HistoryCutError:
    """The same with the time from which on there is history."""
    rv, seq = error.extra["rv"], error.extra["seq"]
    kept = Checkpoint.objects.filter(cluster_id=cluster_id, objects_rv=rv, seq=seq)
    return HistoryCutError(rv, seq, since=kept.values_list("at", flat=True).first())
