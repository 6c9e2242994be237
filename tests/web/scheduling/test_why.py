"""Why a stored attempt chose its node: of its record, of the attempt made again, and where that cannot be had."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import scheduler_config_set
from kschedweb.scheduling.past import attempts, why
from kschedweb.scheduling.past.errors import HistoryCutError
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod, scheduler_config
from tests.web.rest import get
from tests.web.scheduling.conftest import put, scheduled, settle
from tests.web.scheduling.extenders import ExtenderServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

WEB = {"app": "web"}


def asked(row: Attempt, query: str = "", status: int = 200) -> Any:
    return get(row.cluster, f"attempts/{row.seq}/why{query}", status)


def lived(cluster: Cluster) -> Attempt:
    """An empty small node with the image, a large one without, one too small; then the attempt at a pod."""
    image = {"app:1": 900 << 20}
    host = scheduled(
        cluster,
        make_node("small").capacity(cpu="4", memory="8Gi", pods="20").images(image),
        make_node("large").capacity(cpu="64", memory="128Gi", pods="20"),
        make_node("tiny").capacity(cpu="500m", pods="20"),
    )
    put(cluster, *(make_pod(f"p{i}").label(WEB).req(cpu="1", memory="1Gi").image("app:1") for i in range(4)))
    settle(host)
    return Attempt.objects.filter(cluster=cluster).exclude(node_name="").earliest("seq")


def test_two_nodes_and_the_weight_that_turns_it(cluster: Cluster) -> None:
    row = lived(cluster)
    said = asked(row)
    other = {"small": "large", "large": "small"}[row.node_name]
    assert (said["node"], said["other"], said["by"], said["standing"]) == (row.node_name, other, "total", "compared")
    assert (said["difference"], said["made_again"], said["nodes_total"], said["feasible"]) == (None, True, 3, 2)
    detail = get(cluster, f"attempts/{row.seq}")
    nodes = {each["node"]: each for each in detail["matrix"]["nodes"]}
    totals = said["totals"]
    assert (totals["node"], totals["other"]) == (nodes[row.node_name]["total"], nodes[other]["total"])
    for part in totals["plugins"]:
        mine, theirs = (nodes[name]["scores"][part["plugin"]] for name in (row.node_name, other))
        assert (part["node"], part["other"]) == (mine["normalized"], theirs["normalized"])
        assert part["difference"] == mine["weighted"] - theirs["weighted"]
    turn = said["turn"]
    assert turn is not None and turn["outright"] and turn["node"] == other
    made = attempts.attempt_with(cluster_id=cluster.pk, seq=row.seq, plugin=turn["plugin"], weight=turn["to"])
    assert made.node_name == other
    stored = asked(row, "?again=false")
    unknown = {"made_again": False, "turn": None, "without": []}
    assert stored == said | unknown
    assert asked(row, f"?not={other}") == said


def test_refused_node_and_one_that_was_not_there(cluster: Cluster) -> None:
    row = lived(cluster)
    said = asked(row, "?not=tiny")
    assert (said["standing"], said["status"]["reasons"]) == ("refused", ["Insufficient cpu"])
    (cpu, *_) = said["amounts"]
    assert (cpu["asked"], cpu["there"]) == (1_000, 500)
    assert (said["turn"], said["totals"]) == (None, None)
    assert asked(row, "?not=tiny&again=false")["amounts"] is None
    assert asked(row, "?not=none")["standing"] == "absent"


def test_nodes_that_were_never_looked_at(cluster: Cluster) -> None:
    put(cluster, *(make_node(f"n{i:03}").capacity(cpu="4", pods="20") for i in range(150)))
    scheduled(cluster, make_pod("p").req(cpu="1"))
    row = Attempt.objects.get(cluster=cluster)
    said = asked(row, "?not=n149")
    assert (said["standing"], said["by"], said["tied"], said["looked_at"]) == ("unseen", "draw", 100, 101)
    assert 1 <= said["drawn"] <= 100
    assert said["status"] is None and said["totals"]["of_all"] and said["totals"]["num_best"] == 150
    assert asked(row, "?not=n149&again=false")["totals"] is None


def test_totals_with_extenders(cluster: Cluster, extender: ExtenderServer) -> None:
    """With another weight an extender is asked what it was asked then; that it was not asked to bind is no matter."""
    extender.answers["/prioritize"] = lambda question: [{"Host": "small", "Score": 5}, {"Host": "large", "Score": 4}]
    extender.answers["/bind"] = lambda question: {}
    verbs = {"prioritizeVerb": "prioritize", "bindVerb": "bind", "weight": 1}
    content = scheduler_config(extenders=[{"urlPrefix": extender.url, **verbs}]).encode()
    scheduler_config_set(cluster_id=cluster.pk, content=content, actor="test")
    row = lived(cluster)
    said = asked(row)
    totals = said["totals"]
    parts = sum(part["difference"] for part in totals["plugins"])
    assert abs(totals["by_extenders"]) == 10 and parts + totals["by_extenders"] == totals["node"] - totals["other"]
    assert {path for path, _ in extender.asked} == {"/prioritize", "/bind"}
    assert said["difference"] is None
    assert said["turn"]["node"] == said["other"]


def test_what_is_refused(cluster: Cluster) -> None:
    row = lived(cluster)
    assert asked(row, f"?not={row.node_name}", 422)["extra"] == {"not": row.node_name}
    assert asked(row, "?again=perhaps", 400)["code"]
    scheduled(cluster, make_pod("huge").req(cpu="100"))
    nowhere = Attempt.objects.filter(cluster=cluster, name="huge").latest("seq")
    assert asked(nowhere, "", 422)["message"] == "the attempt chose no node"
    Attempt.objects.filter(pk=row.pk).update(matrix=None)
    assert asked(row, "?again=false", 404)["message"] == "no matrix is stored of this attempt"
    Attempt.objects.filter(pk=row.pk).update(matrix=b"x")
    assert "cannot be read" in asked(row, "?again=false", 404)["message"]


def test_record_alone_answers_where_the_moment_was_cut(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    row = lived(cluster)

    def cut(**_: Any) -> Any:
        raise HistoryCutError(5, 9)

    monkeypatch.setattr(why, "attempt_again", cut)
    assert asked(row, "", 410)["extra"] == {"rv": 5, "seq": 9}
    assert asked(row, "?again=false")["totals"] is not None
    assert asked(row, "?not=none")["standing"] == "absent"  # needs no moment


def test_what_comes_out_otherwise_is_told_instead_of_a_weight(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = lived(cluster)
    again = attempts.attempt_again

    def same(*, cluster_id: int, seq: int, plugin: str, weight: int) -> Any:
        made = again(cluster_id=cluster_id, seq=seq, wanted=why.Wanted()).attempt
        return made

    monkeypatch.setattr(why, "attempt_with", same)
    said = asked(row)
    assert said["turn"] is None and said["difference"]["replayed"] == row.node_name
    monkeypatch.undo()
    Attempt.objects.filter(pk=row.pk).update(message="other")
    said = asked(row)
    assert (said["difference"]["field"], said["made_again"], said["turn"]) == ("message", False, None)


def test_mirror_answers_of_its_record(cluster: Cluster) -> None:
    row = lived(cluster)
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True, lifecycle_mode="frozen")
    assert asked(row, "", 409)["code"] == "not_replayable"
    assert asked(row, "?again=false")["totals"] is not None
