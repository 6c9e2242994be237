"""Names in clusters that may match a word: of present pods in the state, of gone ones in the log's index of deletions.

Nothing is written for a search when a pod is scheduled, and what retention cuts or goes with its cluster is found no
more. PostgreSQL is asked for the loosest match first: where that gives few names they are all there are; else the next
stricter match is asked for too. How good a match is says `kschedweb.common.ranking` alone.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection

from kschedweb.common import ranking
from kschedweb.common.patterns import literal

# Entries at the end of a log among which the pods that went last are looked for.
RECENT_ENTRIES: Final = 5_000
# Names of a cluster in which the letters stand in order, looked through for those in which they are parts.
PARTS_CANDIDATES: Final = 500
_NAME: Final = 2  # place of the name in every row
_SEPARATORS: Final = "-."  # of ranking.SEPARATORS those that names of objects have


class PodRow(NamedTuple):
    cluster_id: int
    namespace: str
    name: str
    phase: str
    node_name: str
    deleting: bool
    created_at: datetime


class GoneRow(NamedTuple):
    cluster_id: int
    namespace: str
    name: str
    at: datetime


class NodeRow(NamedTuple):
    cluster_id: int
    namespace: str
    name: str
    ready: bool
    unschedulable: bool


class ObjectRow(NamedTuple):
    cluster_id: int
    namespace: str
    name: str
    kind: str
    pk: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A word as it was typed: `namespace/` before it is the start of a namespace."""

    namespace: str
    word: str

    @classmethod
    def of(cls, typed: str) -> "Wanted":
        before, slash, after = typed.strip().partition("/")
        return cls(before.lower(), after.strip()) if slash else cls("", before)

    @property
    def is_empty(self) -> bool:
        return not self.namespace and not self.word


# `{}` is a condition on the name. Each cluster is looked at by itself, so that none takes the room of another.
_PODS: Final = """
    SELECT one.id, pod.* FROM unnest(%s::bigint[]) AS one (id) CROSS JOIN LATERAL (
        SELECT namespace, name, phase, node_name, deletion_timestamp IS NOT NULL, created_at FROM cluster_pod
        WHERE cluster_id = one.id AND {} ORDER BY {} LIMIT %s
    ) AS pod
"""
_NODES: Final = """
    SELECT one.id, '', node.* FROM unnest(%s::bigint[]) AS one (id) CROSS JOIN LATERAL (
        SELECT name, ready, unschedulable FROM cluster_node WHERE cluster_id = one.id AND {} ORDER BY {} LIMIT %s
    ) AS node
"""
_OBJECTS: Final = """
    SELECT one.id, object.* FROM unnest(%s::bigint[]) AS one (id) CROSS JOIN LATERAL (
        SELECT namespace, name, kind, id FROM cluster_apiobject
        WHERE cluster_id = one.id AND kind = ANY (%s::text[]) AND {} ORDER BY {} LIMIT %s
    ) AS object
"""
# Read from the index `change_gone_pods` alone. A pod whose name another one has now is not gone and takes no room:
# looked up name by name, as far as names are read, in the collation of the index of names.
_GONE: Final = """
    WITH found AS (
        SELECT one.id, gone.* FROM unnest(%s::bigint[]) AS one (id) CROSS JOIN LATERAL (
            SELECT deleted.* FROM (
                SELECT name COLLATE "C" AS name, namespace, max(rv) AS rv FROM cluster_change
                WHERE cluster_id = one.id AND kind = 'Pod' AND operation = 'deleted' AND {}
                GROUP BY 1, 2
            ) AS deleted
            WHERE NOT coalesce((SELECT true FROM cluster_pod AS pod
                                WHERE pod.cluster_id = one.id AND pod.namespace = deleted.namespace
                                  AND pod.name = deleted.name COLLATE "default"), false)
            ORDER BY 1, 2 LIMIT %s
        ) AS gone
    )
    SELECT found.id, found.namespace, found.name, change.at
    FROM found JOIN cluster_change AS change ON change.cluster_id = found.id AND change.rv = found.rv
"""
_GONE_LAST: Final = """
    SELECT one.id, gone.* FROM unnest(%s::bigint[]) AS one (id) JOIN cluster_cluster AS cluster ON cluster.id = one.id
    CROSS JOIN LATERAL (
        SELECT namespace, name, at FROM cluster_change AS change
        WHERE cluster_id = one.id AND rv > cluster.rv - %s AND kind = 'Pod' AND operation = 'deleted'
          AND NOT EXISTS (SELECT FROM cluster_pod AS pod WHERE pod.cluster_id = one.id
                          AND pod.namespace = change.namespace AND pod.name = change.name)
        ORDER BY rv DESC LIMIT %s
    ) AS gone
"""
_NAMESPACES: Final = """
    SELECT one.id, found.namespace FROM unnest(%s::bigint[]) AS one (id) CROSS JOIN LATERAL (
        WITH RECURSIVE each AS (
            (SELECT namespace FROM cluster_pod WHERE cluster_id = one.id ORDER BY namespace LIMIT 1)
            UNION ALL
            SELECT (SELECT pod.namespace FROM cluster_pod AS pod
                    WHERE pod.cluster_id = one.id AND pod.namespace > each.namespace ORDER BY pod.namespace LIMIT 1)
            FROM each WHERE each.namespace IS NOT NULL
        )
        SELECT namespace FROM each WHERE namespace IS NOT NULL LIMIT %s
    ) AS found
"""
_NEWEST: Final = "id DESC"


def pods(ids: Collection[int], wanted: Wanted, most: int) -> list[PodRow]:
    """Present pods; of each cluster at most `most` for every way to match."""
    return [PodRow(*row) for row in _found(_PODS, [list(ids)], ids, wanted, most, "namespace, name")]


def gone_pods(ids: Collection[int], wanted: Wanted, most: int) -> list[GoneRow]:
    """Pods that were deleted and whose name no pod has now, each name once; without a word those deleted last."""
    if wanted.is_empty:
        rows = _read(_GONE_LAST, [list(ids), RECENT_ENTRIES, most])
        return list({row[:3]: GoneRow(*row) for row in reversed(rows)}.values())[::-1]
    found = _found(_GONE, [list(ids)], ids, wanted, most, "", name='(name COLLATE "C")')
    return [GoneRow(*row) for row in found]


def nodes(ids: Collection[int], wanted: Wanted, most: int) -> list[NodeRow]:
    if wanted.namespace:
        return []
    return [NodeRow(*row) for row in _found(_NODES, [list(ids)], ids, wanted, most, "name", namespace="''")]


def objects(ids: Collection[int], kinds: Sequence[str], wanted: Wanted, most: int) -> list[ObjectRow]:
    """Objects of these kinds, which are neither pods nor nodes."""
    found = _found(_OBJECTS, [list(ids), list(kinds)], ids, wanted, most, "kind, namespace, name")
    return [ObjectRow(*row) for row in found]


def namespaces(ids: Collection[int], most: int) -> list[tuple[int, str]]:
    """(cluster, namespace) of all pods, at most `most` of a cluster."""
    return [(row[0], row[1]) for row in _read(_NAMESPACES, [list(ids), most])]


def _found(
    statement: str,
    values: list[Any],
    ids: Collection[int],
    wanted: Wanted,
    most: int,
    order: str,
    *,
    name: str = "name",
    namespace: str = "namespace",
) -> list[tuple[Any, ...]]:
    """Rows whose names match, the best among them: those that match as well as no other `most` do are not all there.

    Names that begin with the word stand together in an index: they are read first, and where there are enough no other
    is wanted. Else the loosest match is asked for first, until there are enough in which a word begins so.
    """
    if wanted.is_empty:
        return _read(statement.format("true", _NEWEST), [*values, most])
    within, of_namespace = "", []
    if wanted.namespace:
        within, of_namespace = f"{namespace} LIKE %s AND ", [literal(wanted.namespace) + "%"]
    word = ranking.folded(wanted.word)
    found: dict[tuple[Any, ...], ranking.Match | None] = {}

    def read(condition: str, given: list[Any], limit: int = most) -> int:
        """Rows of the cluster that has most of them."""
        rows = _read(statement.format(within + condition, order), [*values, *of_namespace, *given, limit])
        found.update((row, ranking.match(word, row[_NAME])) for row in rows if row not in found)
        return max(Counter(row[0] for row in rows).values(), default=0)

    def good() -> int:
        """Rows found so far in which a word begins with this one."""
        return sum(match is not None and match.how <= ranking.How.WORD for match in found.values())

    if not word:
        read("true", [])
        return list(found)
    read(f"{name} = %s", [word])
    if read(f"{name} LIKE %s", [f"{literal(word)}%"]) < most:
        for condition, given, limit in _conditions(word, name, most):
            if read(condition, given, limit) < limit or good() >= most:
                break
    # `parts` may have brought others.
    return [row for row, match in found.items() if match is not None]


def _conditions(word: str, name: str, most: int) -> Iterator[tuple[str, list[Any], int]]:
    """Conditions on a name and how many rows to read, the loosest first, each held by all that match as well or better.

    Patterns of LIKE only: a regular expression takes several times as long for each name. So the loosest is also held
    by names in which not every part is at the start of a word, and more rows are read.
    """
    inside = f"%{literal(word)}%"
    if letters := ranking.abbreviation(word):
        in_order = "%".join(literal(letter) for letter in letters) + "%"
        # Most names are passed over by the first.
        condition = f"{name} LIKE %s AND ({name} LIKE %s OR {name} LIKE ANY (%s::text[]))"
        yield condition, [f"%{in_order}", inside, _at_starts(in_order, letters[0])], max(most, PARTS_CANDIDATES)
    yield f"{name} LIKE %s", [inside], most
    at_starts = _at_starts(f"{literal(word)}%", word[0])
    yield f"{name} LIKE %s AND {name} LIKE ANY (%s::text[])", [inside, at_starts], most


def _at_starts(pattern: str, first: str) -> list[str]:
    """Patterns of names in which this one begins where a word does; a number may have zeros before it."""
    before = [*_SEPARATORS, "0"] if "0" <= first <= "9" else _SEPARATORS
    return [pattern, *(f"%{letter}{pattern}" for letter in before)]


def _read(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
