"""What the scheduler's cache is said to hold, and what its last snapshot is said to have changed."""

from __future__ import annotations

from random import Random

from scheduler_core.explain.cached import Cached, CachedPod, Stage, looked_in
from scheduler_core.framework.answers import PreBindWork
from scheduler_core.model.changes import BindingVerdict, PermitVerdict, PreBindVerdict
from scheduler_core.model.status import SUCCESS, WAIT
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import SECOND, BindingPlugin, Cluster, ToldPlugins, profile, start

GANG = "Gang"
ONE = Budget(max_cycles=1)


def seen(cluster: Cluster, sought: str = "", most: int = 100) -> Cached:
    return looked_in(cluster.scheduler.engine, sought=sought, most_pods=most)


def stages(cluster: Cluster) -> list[tuple[str, Stage]]:
    return [(pod.key, pod.stage) for pod in seen(cluster).pods]


def changed(cluster: Cluster) -> list[str]:
    return [node.name for node in seen(cluster).nodes if node.changed]


def of_nodes(count: int) -> Cluster:
    cluster = start(profile(default=True))
    cluster.put(*(make_node(f"n{number}").capacity(cpu="4").build() for number in range(count)))
    return cluster


def test_pod_is_followed_from_permit_to_its_confirmation() -> None:
    plugins = ToldPlugins()
    plugins.add(
        GANG,
        BindingPlugin,
        permit=lambda pod, node: (WAIT, 60 * SECOND),
        pre_bind=lambda pod, node: (SUCCESS, PreBindWork(awaits=True, deadline=None)),
    )
    cluster = start(profile(GANG, default=True), plugins=plugins)
    cluster.put(make_node("n0").capacity(cpu="4").build())
    pod = make_pod("a").build()
    cluster.step(pod)
    said = pod.uid, "default/a", "n0"
    assert seen(cluster).pods == (CachedPod(*said, Stage.PERMIT, 1, (GANG,), cluster.now + 60 * SECOND),)
    cluster.step(PermitVerdict(pod.uid, GANG, allowed=True))
    assert seen(cluster).pods == (CachedPod(*said, Stage.PRE_BIND, 1, (GANG,)),)
    cluster.step(PreBindVerdict(pod.uid, GANG, done=True))
    assert seen(cluster).pods == (CachedPod(*said, Stage.BINDING, 1),)
    assert (seen(cluster).assumed, seen(cluster).confirmed) == (1, 0)
    cluster.step(BindingVerdict(pod.uid, "n0", bound=True))
    assert seen(cluster).pods == (CachedPod(*said, Stage.BOUND),)
    cluster.step(pod.on_node("n0"))
    assert seen(cluster).pods == (CachedPod(*said, Stage.CONFIRMED),)
    assert (seen(cluster).assumed, seen(cluster).confirmed) == (0, 1)


def test_assumed_pods_come_first_and_then_what_changed_last() -> None:
    cluster = of_nodes(2)
    cluster.confirm(cluster.step(make_pod("a").build()))
    cluster.confirm(cluster.step(make_pod("b").build()))
    cluster.step(make_pod("c").build())
    cluster.step(make_pod("d").build())
    assert [key for key, _ in stages(cluster)] == ["default/c", "default/d", "default/b", "default/a"]
    few = seen(cluster, most=1)
    assert ([pod.key for pod in few.pods], few.pods_found, few.assumed) == (["default/c"], 4, 2)


def test_pods_and_nodes_are_sought_by_a_part_of_their_names() -> None:
    cluster = of_nodes(11)
    cluster.step(
        make_pod("web").on("n10").build(), make_pod("n1x").on("n5").build(), make_pod("other").on("n3").build()
    )
    found = seen(cluster, "n1")
    assert [pod.key for pod in found.pods] == ["default/n1x", "default/web"]
    assert (found.pods_found, found.confirmed) == (2, 3)
    assert sorted(node.name for node in found.nodes) == ["n1", "n10"]


def test_last_snapshot_took_over_what_had_changed_before_the_cycle() -> None:
    cluster = of_nodes(3)
    assert seen(cluster).since is None and seen(cluster).changed is None  # no cycle has run
    assert (seen(cluster).snapshot_nodes, seen(cluster).behind) == (0, 3)
    cluster.step(make_pod("a").build())
    found = seen(cluster)
    assert (found.since, found.changed, sorted(changed(cluster))) == (0, 3, ["n0", "n1", "n2"])
    assert found.behind == 1  # the node that the pod was assumed on
    since = found.snapshot_generation
    cluster.step(make_pod("b").build())
    found = seen(cluster)
    assert (found.since, found.changed) == (since, 1)
    first = cluster.effects[1].attempts[0].node_name
    assert changed(cluster) == [first]


def test_dropped_node_is_named_until_the_next_update() -> None:
    cluster = of_nodes(3)
    cluster.step(make_pod("a").on("n2").build(), make_pod("b").build())
    cluster.delete(make_node("n1").build())
    cluster.delete(make_node("n2").build())
    nodes = {node.name: node for node in seen(cluster).nodes}
    assert nodes["n2"].is_ghost and nodes["n2"].pods == 1
    assert nodes["n1"].generation is None and nodes["n1"].snapshot_generation is not None
    cluster.step(make_pod("c").build())
    assert sorted(seen(cluster).dropped) == ["n1", "n2"] and seen(cluster).snapshot_nodes == 1
    cluster.step(make_pod("d").build())
    assert seen(cluster).dropped == ()


def test_what_is_said_is_what_the_update_did() -> None:
    """Beside a record of the nodes whose entries became others, in a cluster where much happens."""
    draws = Random(3)
    cluster = of_nodes(12)
    for number in range(60):
        name = f"n{draws.randrange(16)}"
        known = cluster.scheduler.engine.store.get("Node", name)
        if known is None or draws.random() < 0.4:
            cluster.put(make_node(name).capacity(cpu=str(draws.randint(2, 9))).build())
        elif draws.random() < 0.4:
            cluster.delete(known)
        snapshot = cluster.scheduler.engine.snapshot
        before = {name: entry.generation for name, entry in snapshot.node_info_map.items()}
        generation = snapshot.generation
        effects = cluster.step(make_pod(f"p{number}").req(cpu="100m").build(), budget=ONE)
        assert len(effects.attempts) == 1
        after = {name: entry.generation for name, entry in snapshot.node_info_map.items()}
        assert set(changed(cluster)) == {name for name in after if after[name] != before.get(name)}
        assert set(seen(cluster).dropped) == before.keys() - after.keys() and seen(cluster).since == generation
        cluster.confirm(effects)


def test_checkpoint_keeps_what_the_last_snapshot_changed() -> None:
    cluster = of_nodes(3)
    cluster.step(make_pod("a").build())
    cluster.step(make_pod("b").build())
    state = checkpoint.dump(cluster.scheduler)
    loaded = start(profile(default=True))
    checkpoint.load(loaded.scheduler, state)
    assert seen(loaded) == seen(cluster)
