"""From Reserve to the binding in a running engine: what is assumed, written, awaited, given up and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.api.volumes import with_annotation
from scheduler_core.config.types import KubeSchedulerProfile, PluginConfig, VolumeBindingArgs
from scheduler_core.model.changes import PermitVerdict
from scheduler_core.model.effects import Effects
from scheduler_core.model.status import SUCCESS, WAIT, Status
from scheduler_core.scheduler import checkpoint
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, BindingPlugin, Cluster, ToldPlugins, profile, start
from tests.core.volumes import BOUND, make_claim, make_class, make_volume

SELECTED = "volume.kubernetes.io/selected-node"
LOCAL = make_class("local", provisioner="kubernetes.io/no-provisioner")


def bound(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    claim = replace(claim, spec=replace(claim.spec, volume_name=volume), status=replace(claim.status, phase="Bound"))
    for key, value in BOUND.items():
        claim = with_annotation(claim, key, value)
    return claim


@dataclass
class Volumes:
    """A cluster whose objects get a new version with each write."""

    cluster: Cluster
    version: int = 0
    messages: list[str] = field(default_factory=list)

    def put(self, *objects: KubeObject, after: int = 0) -> Effects:
        versions = []
        for obj in objects:
            self.version += 1
            metadata = replace(obj.metadata, resource_version=str(self.version))
            versions.append(replace(obj, metadata=metadata))
        effects = self.cluster.step(*versions, after=after)
        self.messages += [patch.message for patch in effects.status_patches]
        return effects

    def claim(self, name: str = "c") -> Any:
        return self.cluster.scheduler.engine.store.get("PersistentVolumeClaim", f"default/{name}")


def built(timeout: int = 600, plugins: ToldPlugins | None = None) -> Volumes:
    """A scheduler that knows nothing yet."""
    names = list(plugins.factories) if plugins is not None else []
    made: KubeSchedulerProfile = profile(*names, default=True)
    config = (PluginConfig("VolumeBinding", VolumeBindingArgs(bind_timeout_seconds=timeout)),)
    return Volumes(start(replace(made, plugin_config=config), plugins=plugins))


def begin(timeout: int = 600, plugins: ToldPlugins | None = None) -> Volumes:
    """Two classes, two nodes."""
    volumes = built(timeout, plugins)
    volumes.put(make_class(), LOCAL, make_node("n1").build(), make_node("n2").build())
    return volumes


@pytest.fixture
def volumes() -> Volumes:
    return begin()


def pod(name: str = "p", claim: str = "c") -> KubeObject:
    return make_pod(name).claim_volume(claim).build()


def local(name: str = "v", **fields: Any) -> PersistentVolume:
    return make_volume(name, class_name="local", **{"node": "n2", **fields})


def test_free_volume_is_written_and_the_pod_bound_once_its_claim_is(volumes: Volumes) -> None:
    volumes.put(make_claim(class_name="local"), local())
    effects = volumes.put(pod())
    (write,) = effects.writes
    assert isinstance(write, PersistentVolume)
    assert write.spec.claim_ref is not None and write.spec.claim_ref.uid == volumes.claim().uid
    assert write.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert effects.bindings == []
    assert volumes.put(write).bindings == []  # the claim's half is missing
    (binding,) = volumes.put(bound(volumes.claim(), "v")).bindings
    assert (binding.name, binding.node_name) == ("p", "n2")


def test_claim_is_placed_on_the_node_and_the_pod_waits_for_its_volume(volumes: Volumes) -> None:
    volumes.put(make_claim())
    effects = volumes.put(pod())
    (write,) = effects.writes
    assert isinstance(write, PersistentVolumeClaim)
    assert write.annotations == {SELECTED: "n1"}
    volumes.put(write)
    # The volume may be seen later than the claim that names it.
    assert volumes.put(bound(volumes.claim(), "made")).bindings == []
    assert len(volumes.put(make_volume("made", claim=volumes.claim())).bindings) == 1


def test_nothing_is_written_when_all_claims_are_bound(volumes: Volumes) -> None:
    volumes.put(make_claim(volume="v"), make_volume("v"))
    effects = volumes.put(pod())
    assert (effects.writes, len(effects.bindings)) == ([], 1)


def test_volume_taken_by_one_pod_is_not_seen_as_free_by_the_next(volumes: Volumes) -> None:
    volumes.put(make_claim("c", class_name="local"), make_claim("d", class_name="local"), local())
    effects = volumes.put(pod("p", "c"), pod("q", "d"))
    assert len(effects.writes) == 1
    assert [attempt.result for attempt in effects.attempts] == ["scheduled", "unschedulable"]


def test_the_smallest_volume_is_taken_and_of_equals_the_first_by_name(volumes: Volumes) -> None:
    volumes.put(make_claim(class_name="local"), local("z", size="2Gi"), local("y", size="2Gi"), local("x", size="3Gi"))
    (write,) = volumes.put(pod()).writes
    assert write.name == "y"


def test_volume_set_aside_by_a_user_is_not_marked_as_the_controllers_doing(volumes: Volumes) -> None:
    claim = make_claim(class_name="local")
    unnamed = local(claimRef={"namespace": "default", "name": "c"})
    volumes.put(claim, unnamed)
    (write,) = volumes.put(pod()).writes
    assert isinstance(write, PersistentVolume) and write.spec.claim_ref is not None
    assert (write.annotations, write.spec.claim_ref.uid) == ({}, claim.uid)


@cases(
    "lost, message",
    ("all annotations are gone", {}, 'selectedNode annotation reset for PVC "c"'),
    ("another node", {SELECTED: "n2"}, 'provisioning failed for PVC "c"'),
    ("no node", {"x": "y"}, 'provisioning failed for PVC "c"'),
)
def test_claim_that_loses_its_node_sends_the_pod_back(volumes: Volumes, lost: dict[str, str], message: str) -> None:
    volumes.put(make_claim())
    (write,) = volumes.put(pod()).writes
    volumes.put(write)
    volumes.put(make_claim(annotations=lost))
    assert volumes.messages == [f'running PreBind plugin "VolumeBinding": binding volumes: {message}']
    assert volumes.cluster.scheduler.engine.bindings == {}


def test_volume_that_loses_its_claim_sends_the_pod_back_and_is_free_again(volumes: Volumes) -> None:
    volumes.put(make_claim("c", class_name="local"), make_claim("d", class_name="local"), local())
    volumes.put(*volumes.put(pod("p", "c")).writes)
    volumes.put(local())
    assert volumes.messages == [
        'running PreBind plugin "VolumeBinding": binding volumes: ClaimRef got reset for pv "v"'
    ]
    assert len(volumes.put(pod("q", "d")).writes) == 1


def test_volume_made_where_the_node_cannot_reach_it_sends_the_pod_back(volumes: Volumes) -> None:
    volumes.put(make_claim())
    volumes.put(*volumes.put(pod()).writes)
    volumes.put(make_volume("made", node="n2", claim=volumes.claim()), bound(volumes.claim(), "made"))
    text = 'binding volumes: pv "made" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms'
    assert volumes.messages == [f'running PreBind plugin "VolumeBinding": {text}']


def test_deleted_pod_stops_waiting(volumes: Volumes) -> None:
    volumes.put(make_claim("c", class_name="local"), make_claim("d", class_name="local"), local())
    waiting = pod("p", "c")
    volumes.put(waiting)
    volumes.cluster.delete(waiting)
    assert volumes.cluster.scheduler.engine.bindings == {}
    assert len(volumes.put(pod("q", "d")).writes) == 1


def test_wait_ends_after_the_bind_timeout() -> None:
    volumes = begin(timeout=5)
    volumes.put(make_claim())
    volumes.put(pod())
    cluster = volumes.cluster
    assert cluster.scheduler.next_due(cluster.now) == cluster.now + 5 * SECOND
    assert cluster.step(after=4 * SECOND).status_patches == []
    (patch,) = cluster.step(after=SECOND).status_patches
    assert patch.message == 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    assert patch.reason == "SchedulerError"


def test_refusal_after_reserve_gives_the_volume_back() -> None:
    refusing = {"yes": True}

    def permit(pod: Any, node: str) -> Any:
        return (Status.unschedulable("no"), 0) if refusing["yes"] else (SUCCESS, 0)

    volumes = begin(plugins=ToldPlugins().add("Guard", BindingPlugin, permit=permit))
    volumes.put(make_claim("c", class_name="local"), make_claim("d", class_name="local"), local())
    assert volumes.put(pod("p", "c")).writes == []
    refusing["yes"] = False
    assert len(volumes.put(pod("q", "d")).writes) == 1


@cases(
    "held",
    ("in PreBind", False),
    ("in Permit", True),
)
def test_reservation_survives_a_checkpoint(held: bool) -> None:
    def hold() -> ToldPlugins:
        answer = (WAIT, 300 * SECOND) if held else (SUCCESS, 0)
        return ToldPlugins().add("Hold", BindingPlugin, permit=lambda pod, node: answer)

    first = begin(plugins=hold())
    first.put(make_claim("c", class_name="local"), make_claim("d", class_name="local"), make_claim("e"), local())
    first.put(pod("p", "c"), pod("r", "e"))
    state = checkpoint.dump(first.cluster.scheduler)
    second = built(plugins=hold())
    checkpoint.load(second.cluster.scheduler, state)
    second.cluster.now, second.version = first.cluster.now, first.version
    assert checkpoint.dump(second.cluster.scheduler) == state
    for side in (first, second):
        engine = side.cluster.scheduler
        assert engine.next_due(side.cluster.now) == side.cluster.now + (300 if held else 600) * SECOND
        assert [attempt.result for attempt in side.put(pod("q", "d")).attempts] == ["unschedulable"]
        if held:
            effects = side.cluster.step(
                *(PermitVerdict(uid, "Hold", allowed=True) for uid in list(engine.engine.bindings))
            )
            assert [write.name for write in effects.writes] == ["v", "e"]
        claim = bound(side.claim("c"), "v")
        effects = side.put(local(claim=claim, phase="Bound"), claim)
        assert [binding.name for binding in effects.bindings] == ["p"]
        (waiting,) = [cycle for cycle in engine.engine.bindings.values() if cycle.awaited_plugin]
        assert (waiting.pod.name, waiting.awaited_plugin) == ("r", "VolumeBinding")
