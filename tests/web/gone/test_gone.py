"""Whoever works on a cluster meets its end at each statement: it is gone, and that is all anybody hears.

The tables name everybody who reads a log, a checkpoint, a lease or an object. Each is met at one of its statements,
some are at every one, and all with --long.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change, Cluster
from kschedweb.common.errors import ClusterGoneError
from kschedweb.scheduling.models import EngineState
from kschedweb.traces.models import EngineLog, EngineStep
from tests.web.accounts.table import CLUSTER
from tests.web.gone import surfaces
from tests.web.gone.between import Meanwhile, meanwhile
from tests.web.gone.stage import GONE, Happening, Reader, Stages
from tests.web.gone.surfaces import SURFACES
from tests.web.gone.workers import WORKERS

pytestmark = pytest.mark.django_db(transaction=True)


def _rename(cluster: Cluster) -> None:
    with suppress(ClusterGoneError):  # the reader itself may have deleted it
        cluster_services.cluster_change(cluster_id=cluster.pk, actor="t", name=f"renamed-{cluster.pk}")


def _cut(cluster: Cluster) -> None:
    """As retention leaves a cluster whose last step made a checkpoint."""
    for log in (EngineLog, EngineStep):
        log._base_manager.filter(cluster=cluster).delete()
    engine = EngineState.objects.filter(pk=cluster.pk).first()
    changes = Change.objects.filter(cluster=cluster)
    (changes if engine is None else changes.filter(rv__lte=engine.rv_seen)).delete()


def _delete(cluster: Cluster) -> None:
    with suppress(ClusterGoneError):
        cluster_services.cluster_delete(cluster_id=cluster.pk)


DELETED = Happening("deleted", _delete, (GONE,), True)
RENAMED = Happening("renamed", _rename, (GONE,))
CUT = Happening("cut", _cut, ("410 ",))
HAPPENINGS = (DELETED, RENAMED, CUT)
# Workers meet the end, and of the others and of all answers every third meets one happening, by turns.
TURNS = itertools.cycle(HAPPENINGS)
ONCE = [
    *((worker, DELETED) for worker in WORKERS),
    *itertools.islice(itertools.product(WORKERS, (RENAMED, CUT)), 0, None, 3),
    *zip(SURFACES[::3], TURNS, strict=False),
]
# To them the end of the cluster looks like another failure at some statements: a missing row, a claim that is lost.
_POD = f"{CLUSTER}/pods/<str:namespace>/<str:name>"
MISTAKING = {
    "import",
    "proof of the history",
    f"GET /{CLUSTER}/frames?rv=0&seq=0",
    f"GET /{CLUSTER}/timeline",
    f"PUT /{CLUSTER}/scheduler-config",
    f"DELETE /{_POD}",
    f"GET /{_POD}/why",
}
EVERYWHERE = [
    pytest.param(
        reader,
        happening,
        marks=() if happening is DELETED and reader.name in MISTAKING else pytest.mark.slow,
    )
    for reader, happening in itertools.product([*WORKERS, *SURFACES], HAPPENINGS)
]


@pytest.fixture(scope="module")
def between(django_db_setup: None, django_db_blocker: Any) -> Iterator[Meanwhile]:
    with django_db_blocker.unblock():
        with meanwhile() as made:
            yield made
        surfaces.close()


@pytest.fixture
def stages(between: Meanwhile, log_lines: Callable[[], list[str]]) -> Stages:
    return Stages(between, log_lines)


@pytest.mark.parametrize(("reader", "happening"), ONCE, ids=str)
def test_what_happens_to_a_cluster_between_two_statements_is_no_failure(
    stages: Stages, reader: Reader, happening: Happening
) -> None:
    found = stages.problems(reader, happening, everywhere=False)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("reader", "happening"), EVERYWHERE, ids=str)
def test_what_happens_to_a_cluster_at_any_statement_is_no_failure(
    stages: Stages, reader: Reader, happening: Happening
) -> None:
    found = stages.problems(reader, happening, everywhere=True)
    assert not found, "\n".join(found)
