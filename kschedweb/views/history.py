"""Whether the record of a cluster says what its steps do when they are made again."""

from typing import Annotated

from kschedweb.views.base import Moment, View, doc


class HistoryDifference(View):
    """Where a step made again first says something else than its record."""

    run: int
    step: int
    seq: Annotated[int, doc("entry of the engine log; the end of the step where the difference is in no entry")]
    pod: Annotated[str, doc("namespace/name; empty where the difference is no pod's")]
    field: Annotated[str, doc("what differs: a column of the attempt, a field of the entry, a place in the matrix")]
    recorded: Annotated[str, doc("what is stored, cut when long")]
    replayed: Annotated[str, doc("what came out now, cut when long")]


class History(View):
    """How far recorded steps have been made again in the background, and found identical to their record."""

    rv: Annotated[int, doc("how far the change log had come at the last step that was identical")]
    seq: Annotated[int, doc("how far the engine log had come")]
    at: Annotated[Moment | None, doc("time of that step in the cluster; null: none yet")]
    cycles: Annotated[int, doc("that were identical")]
    unproven_cycles: Annotated[int, doc("that could not be made again")]
    reason: Annotated[str, doc("why not; empty when all could")]
    entries_left: Annotated[int, doc("entries of the engine log that were not looked at yet")]
    difference: Annotated[HistoryDifference | None, doc("the first one, after which nothing is looked at; null: none")]
    checked_at: Annotated[Moment, doc("when steps were looked at last, by the clock on the wall")]
