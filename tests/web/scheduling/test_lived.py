"""The past of one cluster that was really scheduled: engines, attempts and steps of then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases
from kschedweb.scheduling.past import moments
from kschedweb.scheduling.past.errors import HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.moments import moment
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from scheduler_core.api.times import moment_of
from scheduler_core.scheduler import checkpoint
from tests.web.rest import logged_in
from tests.web.scheduling.lived import Lived, asked, cut_at, cycles, live, of_an_earlier_release, plain, replayed
from tests.web.scheduling.test_again import agrees

pytestmark = pytest.mark.usefixtures("nothing_kept")

POSITIONS = 50


@pytest.fixture(scope="module")
def lives(committed: None) -> Iterator[list[Lived]]:
    """What `lived` has made; whoever spoils it empties the list."""
    with pytest.MonkeyPatch.context() as patient:
        patient.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
        yield []


@pytest.fixture
def lived(lives: list[Lived]) -> Lived:
    """Through lost engines, other leaders, other configurations, preemptions, refused bindings."""
    if not lives:
        lives.append(live(Cluster.objects.create(name=f"lived-{Cluster.objects.count()}", seed=1)))
    return lives[0]


def test_engine_at_any_moment_is_the_one_that_was_there(lived: Lived) -> None:
    assert Checkpoint.objects.filter(cluster=lived.cluster).count() >= 2
    assert len({run for run, _ in lived.states}) >= 5
    last = dict(lived.places)  # of steps at one position the last counts
    for position in Random(1).sample(list(last), min(POSITIONS, len(last))):
        asked(lived, position, last[position])
    moments.forget()
    for position in list(last):  # one after the other, with the engine kept
        asked(lived, position, last[position])


def test_time_names_the_last_step_that_had_ended(lived: Lived) -> None:
    cluster_id = lived.cluster.pk
    every = EngineStep.objects.filter(cluster=lived.cluster).order_by("run", "step")
    steps = [step for step in every if (step.run, step.step) in lived.states]
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        with moment(cluster_id=cluster_id, at=moment_of(step.now_us)) as found:
            assert (found.run, found.step) == (step.run, step.step)
            assert found.scheduler is not None
            assert plain(checkpoint.dump(found.scheduler)) == plain(lived.states[step.run, step.step])
    with moment(cluster_id=cluster_id, at=moment_of(steps[0].now_us) - timedelta(hours=1)) as found:
        assert found.scheduler is None and not found.objects.texts


def test_old_run_is_not_made_up(lived: Lived) -> None:
    """What an engine of an earlier release was made of is not known; from a checkpoint of it on all is."""
    last = dict(lived.places)
    row = Checkpoint.objects.filter(cluster=lived.cluster).earliest("seq")
    after = [(position, place) for position, place in last.items() if place[0] == row.run and place[1] >= row.step]
    unknown = next(position for position, place in last.items() if place[0] > row.run)
    with of_an_earlier_release(lived.cluster):
        for position, place in after:
            asked(lived, position, place)
        old = pytest.raises(NotReplayableError, match="earlier release")
        with old, moment(cluster_id=lived.cluster.pk, position=unknown):
            pass


def test_attempts_are_made_again(lived: Lived) -> None:
    """In any order, then one after the other."""
    rows = list(Attempt.objects.filter(cluster=lived.cluster).order_by("seq"))
    assert len(rows) > 100
    for row in Random(5).sample(rows, 8):
        agrees(row)
    kinds = {agrees(row) for row in rows[::6]}
    assert {"scheduled", "unschedulable"} <= kinds


def test_all_of_history_is_identical(lived: Lived) -> None:
    replay = replayed(lived.cluster)
    assert (replay.difference, replay.unproven) == (None, 0)
    assert replay.cycles == cycles(lived.cluster) > 100
    middle, _ = lived.places[len(lived.places) // 2]
    part = replayed(lived.cluster, first=middle)
    assert part.difference is None and 0 < part.cycles < replay.cycles
    assert replayed(lived.cluster, last=middle).cycles + part.cycles == replay.cycles


def test_runs_of_earlier_releases_stay_unproven_and_say_why(lived: Lived) -> None:
    last = EngineStep.objects.filter(cluster=lived.cluster).latest("run")
    with of_an_earlier_release(lived.cluster, but_run=last.run):
        replay = replayed(lived.cluster)
    assert replay.difference is None
    assert replay.cycles + replay.unproven == cycles(lived.cluster) and replay.cycles and replay.unproven
    assert "earlier release" in replay.reason


def test_what_was_cut_away_is_gone_and_the_rest_is_as_it_was(lived: Lived, lives: list[Lived]) -> None:
    lives.clear()
    cluster, client = lived.cluster, logged_in()
    path = f"/api/clusters/{cluster.pk}/attempts"
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    before = Attempt.objects.filter(cluster=cluster, seq__lte=row.seq).earliest("seq")
    stored = {field.attname: getattr(before, field.attname) for field in Attempt._meta.concrete_fields}
    assert client.get(f"{path}/{before.seq}/again").status_code == 200
    cut_at(row)

    gone = pytest.raises(HistoryCutError, match=f"history begins at {row.objects_rv}.{row.seq}")
    with gone, moment(cluster_id=cluster.pk, position=lived.places[0][0]):
        pass
    kept = [each for each in lived.places if each[0].seq >= row.seq and each[0].rv >= row.objects_rv]
    assert lived.places[-1] in kept
    for position, place in dict(kept).items():
        asked(lived, position, place)

    replay = replayed(cluster)
    assert (replay.difference, replay.unproven) == (None, 0)
    assert 0 < replay.cycles == cycles(cluster)

    if not Attempt.objects.filter(pk=before.pk).exists():
        Attempt.objects.create(**stored)  # as where rows of attempts outlive their steps
    answer = client.get(f"{path}/{before.seq}/again")
    assert (answer.status_code, answer.json()["extra"]) == (410, {"rv": row.objects_rv, "seq": row.seq})
    after = Attempt.objects.filter(cluster=cluster, seq__gt=row.seq).latest("seq")
    answer = client.get(f"{path}/{after.seq}/again").json()
    assert answer.get("difference", answer) is None
