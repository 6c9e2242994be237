"""How many rows and bytes each table of a cluster's past has, for tests that bound them."""

from dataclasses import dataclass

from django.db import connection

TABLES = (
    *("traces_attempt", "traces_enginelog", "traces_enginestep", "traces_nodeorder", "traces_queuestate"),
    *("traces_throughputcount", "traces_checkpoint", "cluster_event", "cluster_change", "bindings"),
)


@dataclass(frozen=True, slots=True)
class TableRows:
    rows: int
    bytes: int  # with indexes, after vacuum


def vacuum() -> None:
    """What PostgreSQL does by itself every minute, if the minute is a real one."""
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")


def table_rows() -> dict[str, TableRows]:
    """By table, of the whole database."""
    found = {}
    vacuum()
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT (SELECT count(*) FROM {table}), pg_total_relation_size('{table}')")
            found[table] = TableRows(*cursor.fetchone())
    return found


def told(found: dict[str, TableRows]) -> str:
    """One line for each table that has rows, and the sum."""
    lines = [
        f"  {table:<18} {size.rows:>8} rows {size.bytes / 1024:>9.0f} KiB" for table, size in found.items() if size.rows
    ]
    total = sum(size.bytes for size in found.values() if size.rows)
    return "\n".join([*lines, f"  {'together':<18} {'':>13} {total / 1024:>9.0f} KiB"])
