"""Encode a snapshot by columns: a third of its length in rows.

Rows repeat the names of fields and values such as the phase. Here each list of views becomes one Column per field;
where most values repeat, each distinct value is sent once and rows refer to it by index.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import orjson

from kschedweb.views import Column, Columns, Snapshot, SnapshotColumns


def snapshot_columns(snapshot: Snapshot) -> SnapshotColumns:
    """Turn the lists of a snapshot into columns."""
    return SnapshotColumns(
        cursor=snapshot.cursor,
        cluster=snapshot.cluster,
        nodes=_columns(snapshot.nodes),
        pods=_columns(snapshot.pods),
        queue=_columns(snapshot.queue),
        events=_columns(snapshot.events),
        attempts=_columns(snapshot.attempts),
        throughput=snapshot.throughput,
        pods_left_out=snapshot.pods_left_out,
    )


def _columns(rows: Sequence[Any]) -> Columns:
    """Split rows, all of one struct, into a column per field; no columns when there are no rows."""
    names = rows[0].__struct_fields__ if rows else ()
    return {name: _column([getattr(row, name) for row in rows]) for name in names}


def _column(values: list[Any]) -> Column:
    keys = values if isinstance(values[0], Hashable) else [orjson.dumps(value) for value in values]
    distinct = dict(zip(keys, values, strict=True))
    if len(distinct) > len(values) / 2:
        return Column(values=values, rows=None)
    index = {key: place for place, key in enumerate(distinct)}
    return Column(values=list(distinct.values()), rows=[index[key] for key in keys])
