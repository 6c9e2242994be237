"""The current-state tables, many rows at a time: read for matching, inserted, rewritten, deleted.

Plain SQL because one import writes tens of thousands of rows. Drafts and rewrites are written by `changes_commit`,
which knows their numbers.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

import orjson
from django.db import connection

from kschedweb.cluster import adapters
from kschedweb.cluster.changes import Written
from kschedweb.common.bulk import copy_rows, execute, json_text, read_rows
from kschedweb.common.packing import kept_json, unpacked
from scheduler_core.api.custom import is_custom
from scheduler_core.apiserver.requests import ObjectKey

Key = tuple[str, str, str]  # kind, namespace, name
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of one of the state tables; `content` is its manifest, as JSON or, in bytes, compressed."""

    pk: int
    kind: str
    namespace: str
    name: str
    uid: str
    rv: int
    content: str | bytes

    @property
    def manifest(self) -> dict[str, Any]:
        """Read anew each time: an import holds a whole cluster of rows, and text takes a fifth of the memory."""
        content = self.content
        found: dict[str, Any] = orjson.loads(content) if isinstance(content, str) else unpacked(content)
        return found

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name

    @property
    def node_name(self) -> str:
        return str((self.manifest.get("spec") or {}).get("nodeName") or "") if self.kind == "Pod" else ""


@dataclass(frozen=True, slots=True)
class Draft:
    """An object about to be stored, with the columns its table keeps of it; `text` is its manifest as JSON."""

    kind: str
    namespace: str
    name: str
    uid: str
    text: bytes
    columns: Mapping[str, Any]

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name

    @classmethod
    def write(cls, cluster_id: int, numbered: Sequence[tuple["Draft", Written]]) -> None:
        """Insert new rows."""
        for name, rows in _by_table((each[0].kind, each) for each in numbered).items():
            table = _TABLES[name]
            copy_rows(
                table.name,
                ("cluster_id", "rv", *table.columns),
                (
                    (cluster_id, written.rv, *[_value(row, column, table, written) for column in table.columns])
                    for row, written in rows
                ),
            )


@dataclass(frozen=True, slots=True)
class Rewrite:
    """New contents of a locked row whose key and uid stay; `columns` are those besides the manifest that may change."""

    pk: int
    kind: str
    columns: Mapping[str, Any]

    @classmethod
    def write(cls, cluster_id: int, numbered: Sequence[tuple["Rewrite", Written]]) -> None:
        """Put the new contents into the rows, one statement for each table and set of columns."""
        for (table, columns), rows in _by_table_and_columns(numbered).items():
            jsonb = {name for name in columns if table.columns[name] == "jsonb"}
            types = ", ".join(f"%b::{'text' if name in jsonb else table.columns[name]}[]" for name in columns)
            sets = ", ".join(f"{name} = given.{name}{'::jsonb' if name in jsonb else ''}" for name in columns)
            execute(
                f"UPDATE {table.name} AS row SET rv = given.rv, {sets}"
                f" FROM unnest(%b::bigint[], %b::bigint[], {types}) AS given (id, rv, {', '.join(columns)})"
                " WHERE row.id = given.id",
                [
                    [row.pk for row, _ in rows],
                    [written.rv for _, written in rows],
                    *(_values(rows, name, table) for name in columns),
                ],
            )


def changing_columns(kind: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of an object stored under this kind that requests can change after its creation."""
    if kind == "Pod":
        return adapters.changing_pod_columns(manifest)
    if kind == "Node":
        return _fields(adapters.node_columns(adapters.node_of(manifest)))
    return {}


def draft(kind: str, manifest: dict[str, Any], obj: adapters.KubeObject) -> Draft:
    """The row of a manifest and the typed object that says the same."""
    columns: dict[str, Any] = {}
    if isinstance(obj, adapters.Node):
        columns = _fields(adapters.node_columns(obj))
    elif isinstance(obj, adapters.Pod):
        columns = _fields(adapters.pod_columns(obj))
        columns["created_at"] = cast(datetime, obj.metadata.creation_timestamp)
    metadata = manifest["metadata"]
    text = kept_json(manifest)
    return Draft(kind, metadata.get("namespace", ""), metadata["name"], metadata["uid"], text, columns)


def _fields(columns: adapters.NodeColumns | adapters.PodColumns) -> dict[str, Any]:
    """The columns by name; `asdict` would copy what is in them too."""
    return {name: getattr(columns, name) for name in columns.__dataclass_fields__}


def stored(cluster_id: int, *, names: Collection[str] | None = None, uids: Collection[str] = ()) -> list[Stored]:
    """Rows of all kinds, locked in the order of their ids; with `names`, those and the ones with these uids."""
    if names is None:
        where, values = "TRUE", []
    else:
        where, values = "name = ANY (%b::text[]) OR uid = ANY (%b::text[])", [list(names), list(uids)]
    return [row for kind in _TABLES for row in _stored(kind, cluster_id, where, values)]


def stored_under(cluster_id: int, keys: Iterable[ObjectKey], *, locked: bool = True) -> list[Stored]:
    """The rows of these keys, locked table by table in the order of their ids unless `locked` is False."""
    found: list[Stored] = []
    of_tables = _by_table((key.kind, key) for key in keys)
    for kind, table in _TABLES.items():
        if kind in of_tables:
            columns = [name for name in ("kind", "namespace", "name") if name in table.columns]
            texts = ", ".join("%b::text[]" for _ in columns)
            where = f"({', '.join(columns)}) IN (SELECT * FROM unnest({texts}))"
            values = [[getattr(key, name) for key in of_tables[kind]] for name in columns]
            found += _stored(kind, cluster_id, where, values, locked=locked)
    return found


def stored_of_kinds(cluster_id: int, kinds: Collection[str], namespace: str = "") -> list[Stored]:
    """The rows of these kinds, of one namespace unless that is empty; not locked."""
    found: list[Stored] = []
    of_tables = _by_table((kind, kind) for kind in kinds)
    for kind, of_table in of_tables.items():
        where, values = "TRUE", list[Any]()
        if kind == "":
            where, values = "kind = ANY (%b::text[])", [of_table]
        if namespace:
            where, values = f"{where} AND namespace = %s", [*values, namespace]
        found += _stored(kind, cluster_id, where, values, locked=False)
    return found


def custom_kinds(cluster_id: int) -> list[str]:
    """The kinds of the cluster's own of which something is stored."""
    (of_objects,) = (table for kind, table in _TABLES.items() if "kind" in table.columns)
    rows = read_rows(f"SELECT DISTINCT kind FROM {of_objects.name} WHERE cluster_id = %s", [cluster_id])
    return sorted(kind for (kind,) in rows if is_custom(kind))


def keys_of_kind(cluster_id: int, kind: str, namespace: str = "") -> list[tuple[str, str]]:
    """(namespace, name) of what is stored of a kind, of one namespace unless that is empty, in the order of ids."""
    table = _TABLES[_table_of(kind)]
    of_namespace = "namespace" if "namespace" in table.columns else "''"
    where, values = "cluster_id = %s", list[Any]([cluster_id])
    for column, value in (("kind", kind), ("namespace", namespace)):
        if column in table.columns and value:
            where, values = f"{where} AND {column} = %s", [*values, value]
    rows = read_rows(f"SELECT {of_namespace}, name FROM {table.name} WHERE {where} ORDER BY id", values)
    return [(found, name) for found, name in rows]


def stored_part(cluster_id: int, kind: str, namespace: str, after: str, limit: int) -> tuple[list[Stored], int]:
    """(rows of a kind after a place, `namespace/name`, in the order of places; how many are left then); not locked."""
    table = _TABLES[_table_of(kind)]
    of_kind = "kind" if "kind" in table.columns else f"'{kind}'"
    of_namespace = "namespace" if "namespace" in table.columns else "''"
    place = f"(CASE WHEN {of_namespace} = '' THEN name ELSE {of_namespace} || '/' || name END) COLLATE \"C\""
    where, values = "cluster_id = %s", list[Any]([cluster_id])
    for column, value in (("kind", kind), ("namespace", namespace)):
        if column in table.columns and value:
            where, values = f"{where} AND {column} = %s", [*values, value]
    # Manifests are long: they are written as text for this part only, not for all rows that are sorted.
    rows = read_rows(
        f"WITH part AS MATERIALIZED (SELECT id, {place} AS place FROM {table.name}"
        f" WHERE {where} AND {place} > %s ORDER BY 2 LIMIT %s)"
        f" SELECT id, {of_kind}, {of_namespace}, name, uid, rv, {table.content} FROM part JOIN {table.name} USING (id)"
        " ORDER BY place",
        [*values, after, limit],
    )
    found = [Stored(*row) for row in rows]
    if len(found) < limit:
        return found, 0
    last = f"{found[-1].namespace}/{found[-1].name}" if found[-1].namespace else found[-1].name
    ((left,),) = read_rows(f"SELECT count(*) FROM {table.name} WHERE {where} AND {place} > %s", [*values, last])
    return found, int(left)


def _stored(kind: str, cluster_id: int, where: str, values: Sequence[Any], *, locked: bool = True) -> list[Stored]:
    """Rows of one table in the order of their ids; the name of a kind of its own says which table."""
    table = _TABLES[kind]
    of_kind = "kind" if "kind" in table.columns else f"'{kind}'"
    of_namespace = "namespace" if "namespace" in table.columns else "''"
    found = read_rows(
        f"SELECT id, {of_kind}, {of_namespace}, name, uid, rv, {table.content} FROM {table.name}"
        f" WHERE cluster_id = %s AND ({where}) ORDER BY id{' FOR UPDATE' if locked else ''}",
        [cluster_id, *values],
    )
    return [Stored(*row) for row in found]


def delete(rows: Iterable[Stored]) -> None:
    by_table: dict[str, list[int]] = {}
    for row in rows:
        by_table.setdefault(_table_of(row.kind), []).append(row.pk)
    with connection.cursor() as cursor:
        for kind, ids in by_table.items():
            cursor.execute(f"DELETE FROM {_TABLES[kind].name} WHERE id = ANY (%s)", [ids])


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    name: str
    columns: Mapping[str, str]  # with their types

    @property
    def content(self) -> str:
        """How SQL reads the manifest that `Stored` has."""
        return "manifest" if self.columns["manifest"] == "bytea" else "manifest::text"


_TABLES = {
    "Node": _Table(
        "cluster_node",
        {
            "name": "text",
            "uid": "text",
            "zone": "text",
            "region": "text",
            "unschedulable": "boolean",
            "ready": "boolean",
            "allocatable": "jsonb",
            "manifest": "jsonb",
        },
    ),
    "Pod": _Table(
        "cluster_pod",
        {
            "namespace": "text",
            "name": "text",
            "uid": "text",
            "node_name": "text",
            "phase": "text",
            "priority": "integer",
            "scheduler_name": "text",
            "nominated_node_name": "text",
            "gated": "boolean",
            "deletion_timestamp": "timestamptz",
            "requests": "jsonb",
            "start_time": "timestamptz",
            "created_at": "timestamptz",
            "condition_reason": "text",
            "condition_message": "text",
            "owner": "text",
            "manifest": "bytea",
        },
    ),
    "": _Table(
        "cluster_apiobject",
        {"kind": "text", "namespace": "text", "name": "text", "uid": "text", "manifest": "jsonb"},
    ),
}
_OWN = frozenset({"kind", "namespace", "name", "uid"})


def _table_of(kind: str) -> str:
    return kind if kind in _TABLES else ""


def _by_table(rows: Iterable[tuple[str, Row]]) -> dict[str, list[Row]]:
    """Rows, given with their kinds, by the names of their tables."""
    found: dict[str, list[Row]] = {}
    for kind, row in rows:
        found.setdefault(_table_of(kind), []).append(row)
    return found


def _by_table_and_columns(
    numbered: Iterable[tuple[Rewrite, Written]],
) -> dict[tuple["_Table", tuple[str, ...]], list[tuple[Rewrite, Written]]]:
    found: dict[tuple[_Table, tuple[str, ...]], list[tuple[Rewrite, Written]]] = {}
    for each in numbered:
        columns = (*each[0].columns, "manifest")
        found.setdefault((_TABLES[_table_of(each[0].kind)], columns), []).append(each)
    return found


def _values(rows: Sequence[tuple[Rewrite, Written]], name: str, table: _Table) -> list[Any]:
    """What a column of changed rows takes."""
    if name == "manifest":
        return [_manifest(table, written) for _, written in rows]
    values = [row.columns[name] for row, _ in rows]
    return list(map(json_text, values)) if table.columns[name] == "jsonb" else values


def _value(row: Draft, column: str, table: _Table, written: Written) -> Any:
    """What a column of a new row takes."""
    if column == "manifest":
        return _manifest(table, written)
    value = getattr(row, column) if column in _OWN else row.columns[column]
    return json_text(value) if table.columns[column] == "jsonb" else value


def _manifest(table: _Table, written: Written) -> str | bytes:
    return written.content if table.columns["manifest"] == "bytea" else written.text.decode()
