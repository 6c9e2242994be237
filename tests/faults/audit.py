"""What must hold of a settled cluster, whatever was killed on the way: read from the tables by SQL of the test's own.

`problems` names every rule that is broken; none is as it should be. Each rule is a function of one transaction.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg

from kschedweb.common import packing
from scheduler_core import build, config
from scheduler_core.api import manifests
from scheduler_core.model.changes import ObjectPut
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget
from tests.faults.workloads import Workload

MICROSECOND = 1_000_000
Connection = psycopg.Connection[Any]


def problems(connection: Connection, cluster_id: int, workload: Workload) -> list[str]:
    """Every rule that the cluster breaks."""
    rules: list[Callable[[Connection, int], list[str]]] = [
        bindings_are_done_once,
        pods_are_bound_once,
        change_log_is_dense,
        engine_log_is_dense,
        steps_follow_each_other,
        attempts_belong_to_steps,
        counts_are_of_everything_done,
        bound_pods_have_their_attempt,
        every_pod_was_attempted,
        no_node_is_overcommitted,
        pending_pods_fit_nowhere,
    ]
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        found = everything_is_there(connection, cluster_id, workload)
        for rule in rules:
            found += [f"{rule.__name__}: {problem}" for problem in rule(connection, cluster_id)[:5]]
    return found


def everything_is_there(connection: Connection, cluster_id: int, workload: Workload) -> list[str]:
    nodes = {row[0] for row in connection.execute("SELECT name FROM cluster_node WHERE cluster_id = %s", [cluster_id])}
    pods = {
        row[0]
        for row in connection.execute(
            "SELECT namespace || '/' || name FROM cluster_pod WHERE cluster_id = %s", [cluster_id]
        )
    }
    lost = sorted((workload.nodes ^ nodes) | (workload.pods ^ pods))
    return [f"everything_is_there: {len(lost)} lost or not known: {lost[:5]}"] if lost else []


def bindings_are_done_once(connection: Connection, cluster_id: int) -> list[str]:
    """At most one binding done for each uid, and the pod is where it says; no pod is bound without one."""
    return _texts(
        connection,
        """
        SELECT 'bound ' || count(*) || ' times: ' || pod_uid FROM bindings
        WHERE cluster_id = %(c)s AND status = 'done' GROUP BY pod_uid HAVING count(*) > 1
        UNION ALL
        SELECT coalesce(p.uid, b.pod_uid) || ' is on ' || coalesce(p.node_name, 'none')
               || ', its binding says ' || coalesce(b.node_name, 'none')
        FROM (SELECT * FROM bindings WHERE cluster_id = %(c)s AND status = 'done') b
        FULL JOIN (SELECT * FROM cluster_pod WHERE cluster_id = %(c)s AND node_name <> '') p ON p.uid = b.pod_uid
        WHERE p.node_name IS DISTINCT FROM b.node_name
        """,
        cluster_id,
    )


def pods_are_bound_once(connection: Connection, cluster_id: int) -> list[str]:
    """In the change log a pod gets a node once and keeps it."""
    node_of: dict[str, str] = {}
    found = []
    log = connection.execute(
        "SELECT uid, object FROM cluster_change WHERE cluster_id = %s AND kind = 'Pod' AND operation <> 'deleted'"
        " ORDER BY rv",
        [cluster_id],
    )
    for uid, packed in log:
        spec = packing.unpacked(packed).get("spec", {})
        node_name, before = spec.get("nodeName", ""), node_of.get(uid, "")
        if before and node_name != before:
            found.append(f"{uid} moved from {before} to {node_name or 'nowhere'}")
        node_of[uid] = node_name
    now = connection.execute("SELECT uid, node_name FROM cluster_pod WHERE cluster_id = %s", [cluster_id]).fetchall()
    found += [f"{uid} is on {name!r}, its log says otherwise" for uid, name in now if node_of.get(uid) != name]
    return found


def change_log_is_dense(connection: Connection, cluster_id: int) -> list[str]:
    return _density(connection, cluster_id, "cluster_change", "rv")


def engine_log_is_dense(connection: Connection, cluster_id: int) -> list[str]:
    return _density(connection, cluster_id, "traces_enginelog", "seq")


def steps_follow_each_other(connection: Connection, cluster_id: int) -> list[str]:
    """Each step begins in the engine log where the one before ended; within a run also in the change log."""
    return _texts(
        connection,
        """
        SELECT run || '.' || step || ' does not follow ' || coalesce(run_before || '.' || step_before, 'the start')
        FROM (SELECT *, lag(run) OVER w AS run_before, lag(step) OVER w AS step_before,
                     lag(seq_to) OVER w AS seq_before, lag(log_to) OVER w AS log_before
              FROM traces_enginestep WHERE cluster_id = %(c)s WINDOW w AS (ORDER BY run, step)) s
        WHERE seq_from <> coalesce(seq_before, 0)
           OR CASE WHEN run = run_before THEN step <> step_before + 1 OR log_from <> log_before
                   ELSE step <> 1 OR run <> coalesce(run_before, 0) + 1 OR log_from < coalesce(log_before, 0) END
        """,
        cluster_id,
    )


def attempts_belong_to_steps(connection: Connection, cluster_id: int) -> list[str]:
    """Every stored attempt lies in its step, and each step's log has as many attempts as it made cycles."""
    return _texts(
        connection,
        """
        SELECT 'attempt ' || a.seq || ' is of no step' FROM traces_attempt a
        WHERE a.cluster_id = %(c)s AND NOT EXISTS (
            SELECT 1 FROM traces_enginestep s
            WHERE s.cluster_id = a.cluster_id AND s.step = a.step AND a.seq > s.seq_from AND a.seq <= s.seq_to)
        UNION ALL
        SELECT 'run ' || s.run || ' step ' || s.step || ' made ' || s.cycles || ' cycles, its log has ' || count(l.seq)
        FROM traces_enginestep s LEFT JOIN traces_enginelog l
          ON l.cluster_id = s.cluster_id AND l.kind = 'attempt' AND l.seq > s.seq_from AND l.seq <= s.seq_to
        WHERE s.cluster_id = %(c)s GROUP BY s.run, s.step, s.cycles HAVING count(l.seq) <> s.cycles
        UNION ALL
        SELECT 'logged attempt ' || l.seq || ' is not stored' FROM traces_enginelog l
        WHERE l.cluster_id = %(c)s AND l.kind = 'attempt' AND NOT EXISTS (
            SELECT 1 FROM traces_attempt a WHERE a.cluster_id = l.cluster_id
            AND a.seq = coalesce((l.payload ->> 'repeats')::bigint, l.seq))
        """,
        cluster_id,
    )


def counts_are_of_everything_done(connection: Connection, cluster_id: int) -> list[str]:
    """By seconds and minutes as many attempts as steps made, as many bound pods as verdicts say."""
    verdicts = connection.execute(
        "SELECT object FROM cluster_change WHERE cluster_id = %s AND kind = 'Binding' AND operation = 'verdict'",
        [cluster_id],
    )
    bound = sum(packing.unpacked(packed)["bound"] for (packed,) in verdicts)
    counted = connection.execute(
        "SELECT coalesce(sum(scheduled + unschedulable + error + skipped + no_profile), 0), coalesce(sum(bound), 0)"
        " FROM traces_throughputcount WHERE cluster_id = %s",
        [cluster_id],
    ).fetchone()
    made = connection.execute(
        "SELECT coalesce(sum(cycles), 0) FROM traces_enginestep WHERE cluster_id = %s", [cluster_id]
    ).fetchone()
    assert counted is not None and made is not None
    attempts, of_pods = int(counted[0]), int(counted[1])
    found = [] if attempts == made[0] else [f"{made[0]} attempts were made, {attempts} are counted"]
    return found if of_pods == bound else [*found, f"{bound} pods were bound, {of_pods} are counted"]


def bound_pods_have_their_attempt(connection: Connection, cluster_id: int) -> list[str]:
    return _texts(
        connection,
        """
        SELECT p.name || ' is on ' || p.node_name || ' without an attempt' FROM cluster_pod p
        WHERE p.cluster_id = %(c)s AND p.node_name <> '' AND NOT EXISTS (
            SELECT 1 FROM traces_attempt a WHERE a.cluster_id = p.cluster_id AND a.pod_uid = p.uid
            AND a.node_name = p.node_name AND a.result = 'scheduled')
        """,
        cluster_id,
    )


def every_pod_was_attempted(connection: Connection, cluster_id: int) -> list[str]:
    return _texts(
        connection,
        """
        SELECT p.name || ' was never tried' FROM cluster_pod p
        WHERE p.cluster_id = %(c)s AND NOT p.gated AND NOT EXISTS (
            SELECT 1 FROM traces_attempt a WHERE a.cluster_id = p.cluster_id AND a.pod_uid = p.uid)
        """,
        cluster_id,
    )


def no_node_is_overcommitted(connection: Connection, cluster_id: int) -> list[str]:
    return _texts(
        connection,
        """
        SELECT u.node_name || ' has ' || coalesce(n.allocatable ->> u.key, '0') || ' ' || u.key || ', used ' || u.used
        FROM (SELECT node_name, key, sum(value::numeric) AS used
              FROM cluster_pod, jsonb_each_text(requests || '{"pods": 1}'::jsonb)
              WHERE cluster_id = %(c)s AND node_name <> '' AND phase NOT IN ('Succeeded', 'Failed')
              GROUP BY node_name, key) u
        LEFT JOIN cluster_node n ON n.cluster_id = %(c)s AND n.name = u.node_name
        WHERE u.used > coalesce((n.allocatable ->> u.key)::numeric, 0)
        """,
        cluster_id,
    )


def pending_pods_fit_nowhere(connection: Connection, cluster_id: int) -> list[str]:
    """A fresh engine, told the stored objects, finds no node for any pod that was left pending."""
    row = connection.execute(
        "SELECT scheduler_config, seed FROM cluster_cluster WHERE id = %s", [cluster_id]
    ).fetchone()
    assert row is not None
    engine = build.build(config.load(row[0] or None), draws=SeededDraws(row[1]))
    stored = []
    for table, kind in (("cluster_node", "'Node'"), ("cluster_apiobject", "kind"), ("cluster_pod", "'Pod'")):
        query = f"SELECT {kind}, manifest, rv FROM {table} WHERE cluster_id = %s ORDER BY id"
        for name, manifest, rv in connection.execute(query, [cluster_id]):
            if isinstance(manifest, bytes):
                manifest = packing.unpacked(manifest)
            if name in manifests.KINDS:
                stored.append(ObjectPut(manifests.decode(manifest, kind=name), rv))
    now = MICROSECOND
    engine.step(now, stored, Budget(max_cycles=0))
    found = []
    pending = connection.execute(
        "SELECT namespace || '/' || name FROM cluster_pod WHERE cluster_id = %s AND node_name = ''"
        " AND phase = 'Pending' AND NOT gated ORDER BY id",
        [cluster_id],
    )
    for (key,) in pending:
        now += MICROSECOND
        results = Counter(attempt.result for attempt in engine.schedule_pod_now(key, now).attempts)
        if results != {"unschedulable": 1}:
            found.append(f"{key} was left pending, a fresh engine says: {dict(results)}")
    return found


def _density(connection: Connection, cluster_id: int, table: str, column: str) -> list[str]:
    return _texts(
        connection,
        f"""
        SELECT count(l.{column}) || ' entries (' || count(DISTINCT l.{column}) || ' different) from '
               || coalesce(min(l.{column}), 0) || ' to ' || coalesce(max(l.{column}), 0)
               || ', the cluster counts ' || c.{column}
        FROM cluster_cluster c LEFT JOIN {table} l ON l.cluster_id = c.id WHERE c.id = %(c)s GROUP BY c.{column}
        HAVING min(l.{column}) <> 1 OR max(l.{column}) <> c.{column} OR count(l.{column}) <> c.{column}
            OR count(DISTINCT l.{column}) <> c.{column}
        """,
        cluster_id,
    )


def _texts(connection: Connection, query: str, cluster_id: int) -> list[str]:
    return [str(row[0]) for row in connection.execute(query, {"c": cluster_id})]
