"""A history from a file with other names: what its steps were given is renamed, and what they decided made anew.

Every step is made again with the names replaced, the draws it had and the answers extenders gave. Messages, matrices
and digests are those that come of it; so none is a text in which a name was overlooked, and the file replays as it
says. A step that goes another way because of a name is a NotReplayableError.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import orjson
import zstandard

from kschedweb.common import packing
from kschedweb.common.collector import without_collecting
from kschedweb.scheduling import adapters
from kschedweb.scheduling.exchanges import exchange_payload
from kschedweb.scheduling.past import comparing, exporting, files, journal, stores
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.files import Head
from kschedweb.scheduling.past.held import Held
from kschedweb.scheduling.past.journal import Entry, Piece, place_of
from kschedweb.scheduling.past.names import Names
from kschedweb.scheduling.past.renaming import Rows, answer_of, asked, rename
from kschedweb.scheduling.past.walking import Walker
from kschedweb.scheduling.services import ATTEMPT_COLUMNS
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import EngineStep
from scheduler_core.errors import CoreError, ExtenderError
from scheduler_core.model.effects import Attempt, Effects, EventRecord, ExtenderExchange, QueueMove
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.recorded import Draw, RecordedAnswers, RecordedDraws
from scheduler_core.trace import digest

# Of an attempt's row: what comes of making it again.
_MADE = (
    *("message", "node_name", "nominated_node_name", "unschedulable_plugins", "rejections", "amounts", "refused"),
    *("best", "preemption", "devices", "node_order", "matrix"),
)
_DECIDED = ("result", "node_name", "nominated_node_name", "evaluated", "feasible", "tied", "unschedulable_plugins")


def anonymised(content: bytes) -> Iterator[bytes]:
    """The file with other names, piece by piece; nothing comes before all of it is made.

    HistoryFileError; NotReplayableError where its steps cannot be made again, or go another way under other names.
    """
    sections = files.read(io.BytesIO(content))
    _, head = next(sections)
    rows: Rows = {part.name: [] for part in files.PARTS}
    for part, found in sections:
        rows[part] += found
    names = Names()
    rename(rows, head, names, asked(rows))
    names.settle()
    renamed = rename(rows, head, names, [])
    given = b"".join(_written(renamed, rows))
    with stores.opened(lambda number: Held(number, io.BytesIO(given))) as number:
        made = _Made(rows, names, head.seed)
        made.go(number, renamed)
    yield from _written(msgspec.structs.replace(renamed, digest=made.digest), rows)


def _written(head: Head, rows: Rows) -> Iterator[bytes]:
    writer = files.Writer()
    yield writer.head(head)
    for part in files.PARTS:
        found = rows[part.name]
        yield from exporting.sections(writer, part, (found[at : at + 500] for at in range(0, len(found), 500)))
    yield writer.end()


# -- what they are given again ---------------------------------------------------------------------------------------


class _InTurn(RecordedAnswers):
    """Answers in the order in which they were given: what is asked is another text, and says the same."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names
        self._next: deque[ExtenderExchange] = deque()

    def put(self, exchanges: Iterable[ExtenderExchange]) -> None:
        self._next = deque(exchanges)

    def take(self, extender: str, payload: bytes) -> bytes:
        if not self._next:
            raise NotReplayableError("extenders are asked more than they were")
        exchange = answer_of(self._next.popleft(), self._names)
        if exchange.answer is None:
            raise ExtenderError(exchange.error)
        return exchange.answer


class _Drawn(RecordedDraws):
    """What was drawn under the names of before, written down for those of now."""

    def __init__(self, names: Names, seed: int) -> None:
        self._before = RecordedDraws(SeededDraws(seed))
        super().__init__(self._before)
        self._names = names
        self.drawn: list[Draw] = []

    def put(self, draws: Iterable[Draw]) -> None:
        """Begin a step; what is recorded of it is so under the names of before."""
        self.drawn = []
        self._before.put(draws)

    def below(self, bound: int, *, pod_key: str, attempt: int, purpose: str) -> int:
        number = super().below(bound, pod_key=self._names.back(pod_key), attempt=attempt, purpose=purpose)
        self.drawn.append((pod_key, attempt, purpose, number))
        return number


# -- what they decided -----------------------------------------------------------------------------------------------


class _Made:
    """Makes all steps again, and puts what comes of them in the place of what is recorded."""

    def __init__(self, rows: Rows, names: Names, seed: int) -> None:
        self.digest = b""  # of the last step
        self._rows, self._names = rows, names
        self._draws = _Drawn(names, seed)
        run, step, seq = files.STEPS.place("run"), files.STEPS.place("step"), files.LOG.place("seq")
        self._steps = {(row[run], row[step]): row for row in rows[files.STEPS.name]}
        self._log = {row[seq]: row for row in rows[files.LOG.name]}
        self._attempts = {row[files.ATTEMPTS.place("seq")]: row for row in rows[files.ATTEMPTS.name]}
        self._events = {row[files.EVENTS.place("seq")]: row for row in rows[files.EVENTS.name]}
        self._digests: dict[int, bytes] = {}  # of attempts that were made again, by position
        self._orders: dict[str, bytes] = {}
        self._drawn: list[list[Any]] = []

    def go(self, number: int, head: Head) -> None:
        """All steps of the file under that number; attempts that none of them made, or repeated, are left out."""
        walker = Walker(journal.ends(number))
        walker.answers, walker.draws = _InTurn(self._names), self._draws
        place, until = (head.start.run, head.start.step), (head.end.run, head.end.step)
        if head.start.run:
            row = stores.of(number).checkpoint_before(place)
            if row is not None:
                walker.load(row)
                self.digest = bytes(row.digest)
        while place < until:
            with without_collecting():
                piece = journal.piece_after(number, place, until, with_decisions=True)
                for step in piece.steps:
                    self._step(walker, step, piece)
            place = place_of(piece.steps[-1])
        self._rows[files.ATTEMPTS.name] = [row for seq, row in self._attempts.items() if seq in self._digests]
        self._rows[files.ORDERS.name] = [[key, self._orders[key]] for key in sorted(self._orders)]
        self._rows[files.DRAWS.name] = self._drawn

    def _step(self, walker: Walker, step: EngineStep, piece: Piece) -> None:
        before = self.digest if step.kind == StepKind.APPLY else digest.START_OF_CHAIN
        try:
            effects = walker.take(step, piece)
        except CoreError as error:
            raise _differs(step, str(error)) from error
        digests = list(self._told(step, piece, effects))
        if len(digests) != step.cycles:
            raise _differs(step, f"{len(digests)} cycles instead of {step.cycles}")
        self.digest = walker.digest = digest.step_digest(before, digests)
        self._steps[place_of(step)][files.STEPS.place("digest")] = self.digest
        if step.kind == StepKind.APPLY:
            self._drawn.append([step.run, step.step, packing.packed(self._draws.drawn)])

    def _told(self, step: EngineStep, piece: Piece, effects: Effects) -> Iterator[tuple[int, bytes]]:
        """Entries of the log and rows of attempts anew; number and digest of each attempt."""
        entries = iter(piece.entries.get(place_of(step), ()))
        entry = next(entries, None)
        for made in effects.log:
            if isinstance(made, EventRecord) and made.type == "Warning" and not comparing.tells_of(entry, made):
                continue  # one seen before is only counted
            kind, payload = comparing.told(made, step.now_us, 0)
            key = made.regarding_key if isinstance(made, EventRecord) else made.pod_key
            if entry is None or (entry.kind, entry.pod_key) != (kind, key):
                raise _differs(step, f"{key}: {kind}")
            if isinstance(made, QueueMove):
                for found in comparing.of_payload(entry.payload, payload):
                    raise _differs(step, f"{key}: {found}")
            if isinstance(made, Attempt):
                yield made.attempt, self._attempt(step, entry, made)
            for name in ("node", "message", "note"):
                if name in entry.payload:
                    entry.payload[name] = payload.get(name, "")
            if isinstance(made, EventRecord) and entry.seq in self._events:
                self._events[entry.seq][files.EVENTS.place("note")] = made.note
            self._put(entry)
            entry = next(entries, None)
        while entry is not None:
            if "extenders" in entry.payload:
                entry.payload["extenders"] = [exchange_payload(*each) for each in effects.exchanges]
                self._put(entry)
            entry = next(entries, None)

    def _put(self, entry: Entry) -> None:
        self._log[entry.seq][files.LOG.place("payload")] = files.json_text(entry.payload)

    def _attempt(self, step: EngineStep, entry: Entry, made: Attempt) -> bytes:
        """The row of an attempt, or of the one it repeats, which may be of before the file."""
        repeats = entry.payload.get("repeats")
        seq, found = repeats or entry.seq, made.digest or digest.attempt_digest(made)
        row = self._attempts.get(seq)
        if row is None:
            raise _differs(step, f"{made.pod_key}: its attempt is missing")
        if seq in self._digests:
            if self._digests[seq] != found:
                raise _differs(step, f"{made.pod_key}: it repeats another attempt")
            return found
        self._digests[seq] = found
        columns = dict(zip(ATTEMPT_COLUMNS, adapters.attempt_row(made, (0,) * 6, found), strict=True))
        part = files.ATTEMPTS
        for name in () if repeats else _DECIDED:
            if row[part.place(name)] != columns[name]:
                raise _differs(step, f"{made.pod_key}: {name}")
        had_amounts = row[part.place("amounts")] is not None
        for name in _MADE:
            value = columns[name] if name != "amounts" or had_amounts else None
            place = part.place(name)
            row[place] = files.json_text(value) if part.columns[place].is_json else value
        row[part.place("digest")] = found
        if made.node_order is not None and made.node_order.digest not in self._orders:
            self._orders[made.node_order.digest] = zstandard.compress(orjson.dumps(made.node_order.names))
        return found


def _differs(step: EngineStep, what: str) -> NotReplayableError:
    return NotReplayableError(
        f"names cannot be replaced: step {step.run}.{step.step} would go another way under others ({what})"
    )
