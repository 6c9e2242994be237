"""What an attempt that found no node keeps of each refusal: what was asked, and what there was."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler_core.api.meta import KubeObject
from scheduler_core.build import build
from scheduler_core.model.amounts import AmountKind, Amounts, packed, unpacked
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.effects import Attempt
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import START
from tests.core.volumes import DRIVER, make_claim, make_class, make_csi_node, make_volume

GPU = "example.com/gpu"
MANY = Budget(max_cycles=100)


@dataclass
class Keeper:
    """Keeps what it is told to, and counts the questions."""

    answer: bool = True
    asked: list[str] = field(default_factory=list)

    def keeps(self, attempt: Attempt) -> bool:
        self.asked.append(attempt.pod_key)
        return self.answer


def room(name: str, **amounts: str) -> NodeBuilder:
    return make_node(name).capacity({"cpu": "4", "memory": "8Gi", "pods": "10"} | amounts)


def attempt_at(
    pod: PodBuilder, *others: NodeBuilder | PodBuilder | KubeObject, keeper: Keeper | None = None
) -> Attempt:
    """The attempt at a pod that is to fit nowhere."""
    scheduler = build(draws=FirstDraws(), keeper=keeper or Keeper())
    objects = [each.build() if isinstance(each, NodeBuilder | PodBuilder) else each for each in (*others, pod)]
    effects = scheduler.step(START, [ObjectPut(each) for each in objects], MANY)
    (attempt,) = (each for each in effects.attempts if each.pod_key == pod.build().key)
    assert attempt.result == "unschedulable"
    return attempt


def told(pod: PodBuilder, *others: NodeBuilder | PodBuilder | KubeObject) -> list[Amounts]:
    """All that is kept, whatever the refusal."""
    return [amounts for each in attempt_at(pod, *others).amounts.values() for amounts in each]


DISK = {"name": "disk", "gcePersistentDisk": {"pdName": "pd-1"}}
FIRST = (("0", 1), ("1", 1), ("2", 1))  # of five values

CASES = [
    ("cpu: the most that is free", make_pod().req(cpu="31"),
     [room("a"), room("b", cpu="16"), make_pod("x").req(cpu="150m").on("b")],
     [Amounts(AmountKind.RESOURCE, "cpu", 2, 31_000, 15_850, "b", 16_000, 2)]),
    ("nodes that lack only one", make_pod().req(cpu="5", memory="9Gi"),
     [room("a"), room("b", cpu="3", memory="16Gi"), room("c", cpu="4500m", memory="16Gi")],
     [Amounts(AmountKind.RESOURCE, "cpu", 3, 5_000, 4_500, "c", 4_500, 2),
      Amounts(AmountKind.RESOURCE, "memory", 1, 9 << 30, 8 << 30, "a", 8 << 30)]),
    ("an extended resource", make_pod().req({GPU: "2"}), [room("a"), room("b", **{GPU: "1"})],
     [Amounts(AmountKind.RESOURCE, GPU, 2, 2, 1, "b", 1, 2)]),
    ("places for pods", make_pod(), [room("a", pods="1"), make_pod("x").on("a")],
     [Amounts(AmountKind.PODS, "pods", 1, 1, 0, "a", 1, 1)]),
    ("taints with one key and several effects", make_pod().toleration("team", value="b"),
     [room("a").taint("team", "a"), room("b").taint("team", "a", "NoExecute"), room("c").taint("team", "a")],
     [Amounts(AmountKind.TAINT, "team=a:NoSchedule", 2, node="a"),
      Amounts(AmountKind.TAINT, "team=a:NoExecute", 1, node="b")]),
    ("a cordon", make_pod(), [room("a").unschedulable()],
     [Amounts(AmountKind.CORDON, "node.kubernetes.io/unschedulable:NoSchedule", 1, node="a")]),
    ("labels wanted, and those there are", make_pod().node_selector(disk="ssd", tier="x"),
     [room("a").label(disk="hdd", tier="x"), room("b").label(disk="hdd"), room("c").label(disk="tape", tier="x"),
      room("d").label(tier="x")],
     [Amounts(AmountKind.LABEL, "disk in (ssd)", 4, node="a", only=3, values=(("hdd", 2), ("tape", 1)), without=1),
      Amounts(AmountKind.LABEL, "tier in (x)", 1, node="b", without=1)]),
    ("of alternatives none is the only thing",
     make_pod().required_node_affinity({"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["3"]}]},
                                       {"matchExpressions": [{"key": "gone", "operator": "DoesNotExist"}]}),
     [room("a").label(rank="1", gone="yes")],
     [Amounts(AmountKind.LABEL, "!gone", 1, node="a", values=(("yes", 1),)),
      Amounts(AmountKind.LABEL, "rank > 3", 1, node="a", values=(("1", 1),))]),
    ("many values", make_pod().node_selector(rank="9"), [room(f"n{rank}").label(rank=str(rank)) for rank in range(5)],
     [Amounts(AmountKind.LABEL, "rank in (9)", 5, node="n0", only=5, values=FIRST, others=2)]),
    ("a port, and who has it", make_pod().host_port(80),
     [room("a"), room("b"), make_pod("x").host_port(80).on("a"), make_pod("y").host_port(80, ip="10.0.0.1").on("b")],
     [Amounts(AmountKind.PORT, "80/TCP", 2, node="a", pod="default/x")]),
    ("spread: the counts, the fewest and maxSkew", make_pod().label(app="web").spread("zone", {"app": "web"}),
     [room("a").label(zone="x"), room("b").label(zone="y").unschedulable(), room("c"),
      make_pod("w1").label(app="web").on("a"), make_pod("w2").label(app="web").on("a")],
     [Amounts(AmountKind.SPREAD, "zone (app in (web))", 1, 1, 0, "a", values=(("x", 2),)),
      Amounts(AmountKind.NO_KEY, "zone", 1, node="c"),
      Amounts(AmountKind.CORDON, "node.kubernetes.io/unschedulable:NoSchedule", 1, node="b")]),
    ("no pod to be near to", make_pod().pod_affinity("zone", {"app": "web"}),
     [room("a").label(zone="x"), room("b"), room("c").label(zone="y").unschedulable(),
      make_pod("w1").label(app="web").on("c")],
     [Amounts(AmountKind.CORDON, "node.kubernetes.io/unschedulable:NoSchedule", 1, node="c"),
      Amounts(AmountKind.NEAR, "zone (app in (web))", 2, None, 1, "a", without=1)]),
    ("a pod to be apart from, on another node of the zone", make_pod().pod_affinity("zone", {"app": "web"}, anti=True),
     [room("a").label(zone="x"), room("b").label(zone="x"), make_pod("w1").label(app="web").on("b")],
     [Amounts(AmountKind.APART, "zone (app in (web))", 2, node="a", pod="default/w1")]),
    ("a pod there that is to be apart", make_pod().label(app="web"),
     [room("a").label(zone="x"), make_pod("w1").pod_affinity("zone", {"app": "web"}, anti=True).on("a")],
     [Amounts(AmountKind.KEPT_APART, "zone", 1, node="a", pod="default/w1")]),
]  # fmt: skip


@cases("pod, others, want", *CASES)
def test_refusal_says_what_was_asked_and_what_there_was(
    pod: PodBuilder, others: list[NodeBuilder | PodBuilder], want: list[Amounts]
) -> None:
    found = told(pod, *others)
    assert sorted(found, key=repr) == sorted(want, key=repr)
    assert unpacked(packed(found)) == found


ZONE = "topology.kubernetes.io/zone"
VOLUMES = [
    ("a volume and its node affinity", make_pod().claim_volume("c"),
     [room("a"), room("b"), make_claim("c", volume="v"), make_volume("v", node="z")],
     [Amounts(AmountKind.VOLUME, "v (kubernetes.io/hostname in (z))", 2, node="a")]),
    ("a volume's zone", make_pod().claim_volume("c"),
     [room("a").label({ZONE: "x"}), make_claim("c", volume="v"), make_volume("v", labels={ZONE: "y"})],
     [Amounts(AmountKind.LABEL, f"{ZONE} in (y)", 1, node="a", only=1, values=(("x", 1),))]),
    ("a driver's limit", make_pod().claim_volume("c1").claim_volume("c2"),
     [room("a"), make_csi_node("a", example=1), make_class(), make_claim("c1"), make_claim("c2")],
     [Amounts(AmountKind.LIMIT, DRIVER, 1, 2, 1, "a", 1)]),
    ("a claim for one pod", make_pod().claim_volume("c"),
     [room("a"), make_claim("c", volume="v", modes=("ReadWriteOncePod",)), make_volume("v"),
      make_pod("x").claim_volume("c").on("a")], [Amounts(AmountKind.CLAIM, "default/c", 1, node="a", pod="default/x")]),
    ("a disk", make_pod().spec(volumes=[DISK]), [room("a"), make_pod("x").spec(volumes=[DISK]).on("a")],
     [Amounts(AmountKind.DISK, "disk", 1, node="a", pod="default/x")]),
]  # fmt: skip


@cases("pod, others, want", *VOLUMES)
def test_refusal_for_volumes_says_which(
    pod: PodBuilder, others: list[NodeBuilder | PodBuilder | KubeObject], want: list[Amounts]
) -> None:
    assert told(pod, *others) == want


def test_amounts_stand_beside_the_refusal_they_are_about() -> None:
    attempt = attempt_at(make_pod().req(cpu="31"), room("a"), room("b").taint("team", "a"))
    assert {key: [each.nodes for each in amounts] for key, amounts in attempt.amounts.items()} == {
        ("NodeResourcesFit", "Insufficient cpu", "UnschedulableAndUnresolvable"): [1],
        ("TaintToleration", "node(s) had untolerated taint {team: a}", "UnschedulableAndUnresolvable"): [1],
    }


def test_nominated_pods_take_what_they_are_to_have() -> None:
    victim, first = make_pod("x").req(cpu="3").on("a"), make_pod("first").req(cpu="3").priority(9)
    found = told(make_pod().req(cpu="2"), room("a"), victim, first)
    assert found == [Amounts(AmountKind.RESOURCE, "cpu", 1, 2_000, -2_000, "a", 4_000, 1)]


def test_nothing_is_made_of_what_is_not_kept() -> None:
    keeper = Keeper(answer=False)
    attempt = attempt_at(make_pod().req(cpu="31"), room("a"), keeper=keeper)
    assert (dict(attempt.amounts), keeper.asked) == ({}, ["default/pod"])


def test_pods_that_find_a_node_are_not_asked_about() -> None:
    keeper = Keeper()
    scheduler = build(draws=FirstDraws(), keeper=keeper)
    scheduler.step(
        START, [ObjectPut(each.build()) for each in (room("a"), room("b", cpu="1"), make_pod().req(cpu="2"))], MANY
    )
    assert keeper.asked == []
