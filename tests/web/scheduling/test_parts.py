"""A replay in parts says what one from the first step to the last says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.ops import comparing
from kschedweb.scheduling.past import parts
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.parts import Made, Part
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from tests.web import tcp
from tests.web.scheduling.lived import cut_at, cycles, live, replayed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence")]


@pytest.fixture(autouse=True)
def _parts_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_ENTRIES", 40)


@pytest.fixture
def cluster() -> Cluster:
    made = live(Cluster.objects.create(name="lived", seed=5), rounds=9).cluster
    made.refresh_from_db()
    return made


def in_parts(cluster: Cluster, most: int = 3, last: Position | None = None) -> tuple[Made, int, int]:
    """The outcome, in how many parts it was made, and how many of them came to the next one's checkpoint."""
    kept: list[Made | str] = []

    def make(cluster_id: int, wanted: Sequence[Part]) -> Iterable[Made | str]:
        kept.extend(parts.one_after_another(cluster_id, wanted))
        return kept

    made = parts.replayed(cluster_id=cluster.pk, last=last, processes=most, make=make)
    return made, len(kept), sum(isinstance(each, Made) and each.is_met for each in kept[:-1])


def test_parts_meet_and_prove_as_many_cycles(cluster: Cluster) -> None:
    made, count, met = in_parts(cluster)
    assert (count, met) == (3, 2)
    assert (made.cycles, made.unproven, made.difference) == (cycles(cluster), 0, None)
    assert in_parts(cluster, most=1)[1:] == (1, 0)
    half = EngineStep.objects.filter(cluster=cluster).order_by("run", "step")[20]
    made, _, _ = in_parts(cluster, last=Position(half.log_to, half.seq_to))
    assert made.cycles == replayed(cluster, last=Position(half.log_to, half.seq_to)).cycles


def test_parts_are_made_by_processes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", tcp.database_url())
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    found = comparing.outcome_of(cluster.pk, None, None, processes=2)
    assert (found["cycles"], found["difference"]) == (cycles(cluster), None)


def test_first_difference_is_the_same_wherever_it_is(cluster: Cluster) -> None:
    rows = Attempt.objects.filter(cluster=cluster).exclude(node_name="").order_by("seq")
    for row in (rows.last(), rows[len(rows) // 2], rows.first()):
        assert row is not None
        Attempt.objects.filter(pk=row.pk).update(node_name="n999")
        made, whole = in_parts(cluster)[0], replayed(cluster)
        assert made.difference is not None and made.difference.field == "node_name"
        assert (made.difference, made.cycles) == (whole.difference, whole.cycles)


def test_checkpoint_of_another_engine_is_not_gone_on_from(cluster: Cluster) -> None:
    """A part that began with it would differ, or prove what never was."""
    rows = list(Checkpoint.objects.filter(cluster=cluster).exclude(engine=b"").order_by("run", "step"))
    Checkpoint.objects.filter(pk=rows[-1].pk).update(engine=bytes(rows[0].engine))
    made, count, met = in_parts(cluster)
    assert (count, met) == (3, 1)
    assert (made.cycles, made.difference) == (cycles(cluster), None)


def test_history_that_was_cut_begins_at_its_first_checkpoint(cluster: Cluster) -> None:
    row = Checkpoint.objects.filter(cluster=cluster).exclude(engine=b"").order_by("run", "step").first()
    assert row is not None
    cut_at(row)
    made, count, met = in_parts(cluster)
    assert count > 1 and met == count - 1
    assert made.cycles == replayed(cluster).cycles < cycles(cluster) + 1
