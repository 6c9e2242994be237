"""How the holder of leases is heard of without a write: its session's beat.

A session beats by an advisory lock, one after the other: above 32 bits of its key who beats, below them when, in tenths
of seconds since the epoch. PostgreSQL keeps such locks in memory and shows them to everybody (`pg_locks`); those of a
session end with it.
"""

_MASK = (1 << 32) - 1
_HALF = f"(hashtext({{holder}})::bigint & {_MASK})"
_NOW = f"((extract(epoch FROM clock_timestamp()) * 10)::bigint & {_MASK})"
_PASSED = f"(({_NOW} - b.at) & {_MASK})"

_IS_BEAT = (
    "locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_BEATS = f"SELECT classid::bigint AS half, max(objid::bigint) AS at FROM pg_locks WHERE {_IS_BEAT} GROUP BY 1"
# SQL: joins the last beat `b` of the holder of lease `l`; `b.at` is NULL where there is none.
HEARD = f"LEFT JOIN ({_BEATS}) b ON b.half = {_HALF.format(holder='l.holder')}"
# SQL: the last beat of the holder of a row of `leases`, NULL where there is none.
LAST = f"(SELECT b.at FROM ({_BEATS}) b WHERE b.half = {_HALF.format(holder='leases.holder')})"
# SQL: seconds since that beat. Who beats more often than ten times a second is ahead of the clock.
AGE = f"CASE WHEN {_PASSED} > {_MASK // 2} THEN 0 ELSE {_PASSED} / 10.0 END"
# SQL, a part of WITH: this session beats once for `holder`; `ended` has a row when it has. That is later than what is
# left of an earlier session of the same holder, whatever the clock says.
BEATING = f"""who AS MATERIALIZED (SELECT {_HALF.format(holder="%(holder)s::text")} AS half),
 old AS MATERIALIZED (
    SELECT half, objid::bigint AS at, pid = pg_backend_pid() AS is_own FROM pg_locks JOIN who ON classid::bigint = half
    WHERE {_IS_BEAT}),
 new AS MATERIALIZED (
    SELECT pg_advisory_lock_shared((half << 32) | (greatest({_NOW}, (SELECT max(at) + 1 FROM old)) & {_MASK}))
    FROM who),
 ended AS MATERIALIZED (
    SELECT count(pg_advisory_unlock_shared((half << 32) | at)) FROM old
    WHERE is_own AND (SELECT count(*) FROM new) > 0)"""
