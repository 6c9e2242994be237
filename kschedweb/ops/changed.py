"""What changed between two attempts at a pod, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kschedweb.ops.telling import number_of

OTHERWISE = {
    "configuration": "by another version of the configuration",
    "assumed": "by nothing that was stored: pods were only assumed on nodes",
    "late": "by what was not found in time",
    "unproven": "by what is not sure: a second engine says otherwise",
}


def told_changed(said: Mapping[str, Any]) -> Iterator[str]:
    """Which nodes changed verdict, below what turned them, a sentence a line."""
    between = f"between its attempts {said['since_number']:,} and {said['number']:,}"
    yield (
        f"{between}, entries {said['since_rv']} to {said['rv']}:"
        f" {said['changed']:,} of {number_of(said['nodes'], 'node')} changed verdict"
    )
    rows: Sequence[Mapping[str, Any]] = said["rows"]
    for entry in said["entries"]:
        name = "/".join(part for part in (entry["namespace"], entry["name"]) if part)
        what = f"{entry['kind']} {name} {entry['operation']} by {entry['actor']} at {entry['at']}"
        yield f"entry {entry['rv']}: {what}: {number_of(entry['nodes'], 'node')}, proven by two runs"
        yield from (f"  {_turned(row)}" for row in rows if row["rv"] == entry["rv"])
    for by, text in OTHERWISE.items():
        found = [row for row in rows if row["by"] == by]
        if found:
            yield f"{text}:"
            yield from (f"  {_turned(row)}" for row in found)
    left = said["changed"] - len(rows)
    if left > 0:
        yield f"and {number_of(left, 'other node')}"
    apart = said["difference"]
    if apart is not None:
        yield f"different: {apart['field']}; recorded: {apart['recorded']}; again: {apart['replayed']}"


def _turned(row: Mapping[str, Any]) -> str:
    return f"{row['node']}: {_word(row['before'], row['was_there'])} -> {_word(row['after'], row['is_there'])}"


def _word(status: Mapping[str, Any] | None, is_there: bool) -> str:
    if not is_there:
        return "no such node"
    if status is None:
        return "fits"
    return ": ".join(part for part in (status["plugin"], ", ".join(status["reasons"])) if part)
