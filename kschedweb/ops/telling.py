"""What commands print for people: tables and sentences. Nothing of it is JSON, which `--json` gives to programs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# What may become of the objects of a kind, in the order in which it is told.
OUTCOMES = ("created", "updated", "replaced", "unchanged", "deleted", "repeated", "refused")
# What files hold beside objects.
PASSED_OVER = {"files": "files of other names", "logs": "logs of containers"}
FILES_LISTED = 50

FROZEN = "frozen: the scheduler decides, binds and preempts in this copy (victims are deleted); no controllers act"


def table(head: Sequence[str], rows: Sequence[Sequence[str | int]], *, left: int = 1) -> list[str]:
    """Lines of columns under their names; those after the first `left` are numbers and stand to the right."""
    texts = [list(head), *([f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  ".join(_placed(line, widths, left)).rstrip() for line in texts]


def counts(found: Mapping[str, int]) -> str:
    """Numbers by name, those above zero."""
    return ", ".join(f"{name} {count:,}" for name, count in found.items() if count)


def number_of(count: int, word: str) -> str:
    """How many there are of what a word names: `1 node`, `1,203 nodes`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def no_cluster(name: str | None, known: Iterable[str]) -> str:
    """That there is none, of this name, and which there are."""
    others = ", ".join(sorted(known))
    return f"there is no cluster{f' named {name}' if name else ''}{f'; there are: {others}' if others else ''}"


def details(message: str, extra: Mapping[str, Any]) -> list[str]:
    """What a refusal says beyond its message, a line each: facts that stand in the message are not told twice."""
    problems = extra.get("problems") or ()
    if not all(isinstance(problem, Mapping) for problem in problems):
        problems = ()
    refused = extra.get("refused") or ()
    listed = {*(["problems"] if problems else []), *(["refused", "refused_total"] if refused else [])}
    facts = {name: value for name, value in extra.items() if name not in listed}
    told = [(name, value) for name, value in _facts("", facts) if value and value not in message]
    lines = [f"{name}: {value}" if name else value for name, value in told]
    if refused:
        lines += refusals(refused, extra["refused_total"])
    return [*lines, *problem_table(problems)] if problems else lines


def refusals(listed: Sequence[Mapping[str, Any]], total: int) -> list[str]:
    """What of an upload was not taken, and how much more there is of it than is listed."""
    more = total - len(listed)
    return [*(f"  {each['message']}" for each in listed), *([f"  and {more:,} more"] if more else [])]


def problem_table(problems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Problems of a configuration: where they are, what they are, and what is expected where they do not say it.

    What has more to say on how to put it right says it below.
    """
    rows = [
        (str(each["line"] or "-"), each["path"] or "-", _with_expected(each["message"], each["expected"]))
        for each in problems
    ]
    lines = table(("LINE", "FIELD", "PROBLEM"), rows, left=3)
    for each in problems:
        if each.get("help"):
            lines += ["", f"{each['path']}:", *(f"  {line}" for line in each["help"].splitlines())]
    return lines


def import_report(report: Mapping[str, Any]) -> list[str]:
    """What became of the files of an import."""
    files = [(each["name"], each["format"], each["bytes"], each["objects"]) for each in report["files"]]
    lines = table(("FILE", "FORMAT", "BYTES", "OBJECTS"), files[:FILES_LISTED], left=2)
    more = len(files) - FILES_LISTED
    lines += [f"and {number_of(more, 'more file')}"] if more > 0 else []
    passed_over = {PASSED_OVER[what]: count for what, count in report.get("passed_over", {}).items()}
    lines += [f"passed over: {counts(passed_over)}"] if passed_over else []
    kinds = report["kinds"]
    outcomes = [outcome for outcome in OUTCOMES if any(outcome in counts for counts in kinds.values())]
    if kinds:
        rows = [(kind, *(counts.get(outcome, 0) for outcome in outcomes)) for kind, counts in kinds.items()]
        lines += ["", *table(("KIND", *(outcome.upper() for outcome in outcomes)), rows)]
    if report["refused"]:
        lines += ["", f"{report['refused_total']:,} refused:", *refusals(report["refused"], report["refused_total"])]
    if report["resources"]:
        wanted = [
            (name, _amount(name, each["demand"]), _amount(name, each["capacity"]))
            for name, each in report["resources"].items()
        ]
        lines += ["", *table(("RESOURCE", "REQUESTED", "AVAILABLE"), wanted)]
    return [*lines, "", f"{report['kept']:,} stored as they were, {report['admitted']:,} admitted", *report["notes"]]


def _with_expected(message: str, expected: str) -> str:
    text = " ".join(message.split())
    return text if not expected or expected in text else f"{text} (expected: {expected})"


def _placed(line: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    return [
        cell.ljust(width) if column < left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def _amount(resource: str, value: int) -> str:
    """Cores, GiB, or a number."""
    if resource == "cpu":
        return f"{value / 1000:,.1f}"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return f"{value / 2**30:,.1f}Gi"
    return f"{value:,}"


def _facts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """(name, text) of every single value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            # What is wrong with fields: their names say enough.
            yield from _facts("" if key == "fields" and not name else f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _facts(name, inner)
    elif value is not None:
        yield name, str(value)
