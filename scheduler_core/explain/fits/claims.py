"""What a pod claims: other claims, other classes of storage and devices, fewer devices.

A claim that is changed is one that is made anew: its spec is not changed once it is there. Claims that have got what
they ask for stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final, cast

from msgspec.structs import replace as changed

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import PersistentVolumeClaimVolumeSource, Pod
from scheduler_core.api.resource_claims import (
    POD_CLAIM_NAME,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from scheduler_core.api.storage import PersistentVolumeClaim, StorageClass
from scheduler_core.api.volumes import BETA_STORAGE_CLASS, claim_class_name
from scheduler_core.config import names
from scheduler_core.explain.fits.changes import Change, Edit, Kind, World
from scheduler_core.explain.fits.pod_fields import Relaxation, as_it_is
from scheduler_core.explain.fits.smallest import least
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.scheduler.store import ObjectStore

MOST_TRIED: Final = 10  # classes of a claim, and claims of an entry
EXACT_COUNT: Final = "ExactCount"
_DEVICES: Final = frozenset({names.DYNAMIC_RESOURCES})
_VOLUMES: Final = frozenset(
    {names.VOLUME_BINDING, names.VOLUME_ZONE, names.VOLUME_RESTRICTIONS, names.NODE_VOLUME_LIMITS}
)

Respec = Callable[[ExactDeviceRequest], ExactDeviceRequest]


def relaxations(store: ObjectStore, world: World) -> Iterator[Relaxation]:
    """Of the volumes and devices that the pod claims."""
    yield from _device_claims(store, world)
    yield from _devices(store, world)
    yield from _volumes(store, world)


def _devices(store: ObjectStore, world: World) -> Iterator[Relaxation]:
    """Fewer devices, or devices of another class, by each request of a claim that has none yet."""
    classes = [each.name for each in store.list(DeviceClass.kind)]
    for entry in range(len(world.pod.spec.resource_claims or ())):
        claims = [claim for pod in world.pods if (claim := _device_claim(store, pod, entry)) is not None]
        if not claims or claims[0].status.allocation is not None:
            continue
        for index, request in enumerate(claims[0].spec.devices.requests or ()):
            if request.exactly is not None:
                yield from _of_request(claims, index, request.exactly, classes)


def _of_request(
    claims: Sequence[ResourceClaim], index: int, asked: ExactDeviceRequest, classes: Sequence[str]
) -> Iterator[Relaxation]:
    of, path = f"ResourceClaim/{claims[0].name}", f"spec.devices.requests[{index}].exactly"
    count = asked.count or 1
    if count > 1 and asked.allocation_mode in ("", EXACT_COUNT):

        def to(number: int) -> Edit:
            return _with_request(claims, index, lambda given: changed(given, count=number))

        def refine(tries: Tries, world: World) -> Sequence[Change]:
            fewer = least(1, lambda fewer: bool(tries.placed(to(count - fewer)(world))), count - 1)
            if fewer is None:
                return ()
            left, share = count - fewer, Fraction(fewer, count)
            return (
                Change(Kind.DEVICES, f"{path}.count", str(count), str(left), to(left), step="1", share=share, of=of),
            )

        yield Relaxation(_DEVICES, to(1), refine)
    for name in [each for each in classes if each != asked.device_class_name][:MOST_TRIED]:

        def classed(given: ExactDeviceRequest, name: str = name) -> ExactDeviceRequest:
            return changed(given, device_class_name=name)

        edit = _with_request(claims, index, classed)
        field = f"{path}.deviceClassName"
        yield as_it_is(Change(Kind.DEVICE_CLASS, field, asked.device_class_name, name, edit, of=of), *_DEVICES)


def _with_request(claims: Sequence[ResourceClaim], index: int, respec: Respec) -> Edit:
    """Of all claims whose spec is that of the first."""
    first = claims[0].spec

    def edit(claim: KubeObject) -> KubeObject:
        assert isinstance(claim, ResourceClaim)
        requests = list(claim.spec.devices.requests or ())
        given = requests[index]
        assert isinstance(given, DeviceRequest) and given.exactly is not None
        requests[index] = changed(given, exactly=respec(given.exactly))
        return changed(claim, spec=ResourceClaimSpec(changed(claim.spec.devices, requests=tuple(requests))))

    return _of_all([claim for claim in claims if claim.spec == first], edit)


def _of_all(objects: Sequence[KubeObject], edit: Callable[[KubeObject], KubeObject]) -> Edit:
    def edited(world: World) -> World:
        for each in objects:
            world = world.with_object(each, edit)
        return world

    return edited


def _device_claim(store: ObjectStore, pod: Pod, entry: int) -> ResourceClaim | None:
    """The claim of an entry, named or made for the pod."""
    asked = (pod.spec.resource_claims or ())[entry]
    name = asked.resource_claim_name or next(
        (each.resource_claim_name for each in pod.status.resource_claim_statuses or () if each.name == asked.name), None
    )
    return cast(ResourceClaim | None, store.get(ResourceClaim.kind, f"{pod.namespace}/{name}")) if name else None


def _device_claims(store: ObjectStore, world: World) -> Iterator[Relaxation]:
    """Another claim, that was not made for a pod."""
    pod = world.pod
    there = [
        each.name
        for each in store.list(ResourceClaim.kind)
        if each.namespace == pod.namespace and POD_CLAIM_NAME not in each.annotations
    ]
    for index, entry in enumerate(pod.spec.resource_claims or ()):
        old = entry.resource_claim_name
        for name in [each for each in there if old and each != old][:MOST_TRIED]:

            def edit(given: World, index: int = index, name: str = name) -> World:
                listed = list(given.pod.spec.resource_claims or ())
                listed[index] = changed(listed[index], resource_claim_name=name)
                return given.with_spec(resource_claims=tuple(listed))

            path = f"spec.resourceClaims[{index}].resourceClaimName"
            yield as_it_is(Change(Kind.CLAIM, path, old or "", name, edit), *_DEVICES)


def _volumes(store: ObjectStore, world: World) -> Iterator[Relaxation]:
    """Another claim that no pod uses, or the claim with another class where it is not bound."""
    pod, classes = world.pod, [each.name for each in store.list(StorageClass.kind)]
    used = {key for other in store.list(Pod.kind) if isinstance(other, Pod) for key in _claim_keys(other)}
    claims = {each.key: each for each in store.list(PersistentVolumeClaim.kind) if each.namespace == pod.namespace}
    free = [claim.name for key, claim in claims.items() if key not in used]
    for index, volume in enumerate(pod.spec.volumes or ()):
        source = volume.persistent_volume_claim
        if source is None:
            continue
        path = f"spec.volumes[{index}].persistentVolumeClaim.claimName"
        for name in free[:MOST_TRIED]:
            change = Change(Kind.CLAIM, path, source.claim_name, name, _with_volume(index, source, name))
            yield as_it_is(change, *_VOLUMES)
        claim = claims.get(f"{pod.namespace}/{source.claim_name}")
        if isinstance(claim, PersistentVolumeClaim) and not claim.spec.volume_name:
            yield from _storage_classes(claim, classes)


def _storage_classes(claim: PersistentVolumeClaim, classes: Sequence[str]) -> Iterator[Relaxation]:
    old, of = claim_class_name(claim), f"PersistentVolumeClaim/{claim.name}"
    for name in [each for each in classes if each != old][:MOST_TRIED]:

        def edit(given: KubeObject, name: str = name) -> KubeObject:
            assert isinstance(given, PersistentVolumeClaim)
            annotations = {key: value for key, value in given.annotations.items() if key != BETA_STORAGE_CLASS}
            metadata = changed(given.metadata, annotations=annotations)
            return changed(given, metadata=metadata, spec=changed(given.spec, storage_class_name=name))

        change = Change(Kind.STORAGE_CLASS, "spec.storageClassName", old, name, _of_all([claim], edit), of=of)
        yield as_it_is(change, *_VOLUMES)


def _with_volume(index: int, source: PersistentVolumeClaimVolumeSource, name: str) -> Edit:
    def edit(world: World) -> World:
        listed = list(world.pod.spec.volumes or ())
        listed[index] = changed(listed[index], persistent_volume_claim=changed(source, claim_name=name))
        return world.with_spec(volumes=tuple(listed))

    return edit


def _claim_keys(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
