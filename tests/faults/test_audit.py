"""The audit itself: every rule notices the one fault it is for."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kschedweb.common import packing
from tests.builders import make_pod
from tests.cases import cases
from tests.faults import audit, workloads
from tests.faults.service import Service

WORKLOAD = workloads.roomy(nodes=3, pods=12)
UID = "SELECT min(uid) FROM cluster_pod WHERE cluster_id = %(c)s"
POD = f"cluster_id = %(c)s AND uid = ({UID})"


@pytest.fixture(scope="module")
def settled(service: Service) -> int:
    """A small cluster in which nothing is wrong."""
    cluster_id = service.cluster_create("audited", seed=1)
    service.upload(cluster_id, WORKLOAD.files)
    service.wait_settled(cluster_id)
    return cluster_id


@cases(
    "rule, fault",
    ("pod elsewhere", audit.bindings_are_done_once, f"UPDATE cluster_pod SET node_name = 'n999' WHERE {POD}"),
    (
        "bound without a binding",
        audit.bindings_are_done_once,
        "UPDATE bindings SET status = 'refused' WHERE cluster_id = %(c)s",
    ),
    ("pod lost its node", audit.pods_are_bound_once, f"UPDATE cluster_pod SET node_name = '' WHERE {POD}"),
    ("hole in rv", audit.change_log_is_dense, "DELETE FROM cluster_change WHERE cluster_id = %(c)s AND rv = 5"),
    (
        "last entry of the engine log lost",
        audit.engine_log_is_dense,
        "UPDATE cluster_cluster SET seq = seq + 1 WHERE id = %(c)s",
    ),
    ("step lost", audit.steps_follow_each_other, "DELETE FROM traces_enginestep WHERE cluster_id = %(c)s AND step = 1"),
    (
        "cycle without an attempt",
        audit.attempts_belong_to_steps,
        "UPDATE traces_enginestep SET cycles = cycles + 1 WHERE cluster_id = %(c)s",
    ),
    (
        "attempt of no step",
        audit.attempts_belong_to_steps,
        "UPDATE traces_attempt SET step = step + 1000 WHERE cluster_id = %(c)s",
    ),
    (
        "attempt counted twice",
        audit.counts_are_of_everything_done,
        "UPDATE traces_throughputcount SET scheduled = scheduled + 1 WHERE cluster_id = %(c)s",
    ),
    (
        "bound pods not counted",
        audit.counts_are_of_everything_done,
        "UPDATE traces_throughputcount SET bound = 0 WHERE cluster_id = %(c)s",
    ),
    (
        "attempt that says another node",
        audit.bound_pods_have_their_attempt,
        "UPDATE traces_attempt SET node_name = 'n999' WHERE cluster_id = %(c)s",
    ),
    (
        "pod nobody tried",
        audit.every_pod_was_attempted,
        f"DELETE FROM traces_attempt WHERE cluster_id = %(c)s AND pod_uid IN ({UID})",
    ),
    (
        "node too small",
        audit.no_node_is_overcommitted,
        """UPDATE cluster_node SET allocatable = '{"cpu": 100}' WHERE cluster_id = %(c)s""",
    ),
    (
        "pods that would fit",
        audit.pending_pods_fit_nowhere,
        f"UPDATE cluster_pod SET node_name = '', manifest = %(unbound)s WHERE {POD}",
    ),
)
def test_rule_notices_its_fault(
    service: Service, settled: int, rule: Callable[[audit.Connection, int], list[str]], fault: str
) -> None:
    with service.connect() as connection, connection.transaction(force_rollback=True):
        assert rule(connection, settled) == []
        values = {"c": settled, "unbound": packing.packed(make_pod("unbound").req(cpu="1m").manifest())}
        assert connection.execute(fault, values).rowcount > 0
        assert rule(connection, settled) != []


def test_lost_object_is_noticed(service: Service, settled: int) -> None:
    more = replace(WORKLOAD, pods=WORKLOAD.pods | {"default/another"})
    with service.connect() as connection:
        assert audit.problems(connection, settled, WORKLOAD) == []
        assert audit.everything_is_there(connection, settled, more) != []
