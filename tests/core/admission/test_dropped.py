"""What gates that are off in 1.34 would keep goes, with what only it needed; what the object had before stays."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.admission.dropped import drop_disabled
from tests.cases import cases

Manifest = dict[str, Any]
STOP: Manifest = {"stopSignal": "SIGTERM"}
SLEEP: Manifest = {"preStop": {"sleep": {"seconds": 1}}}


def pod_spec(**container: Any) -> Manifest:
    return {"containers": [{"name": "c", **container}]}


def with_volumes() -> Manifest:
    mounts = [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]
    image = {"name": "a", "image": {"reference": "i"}}
    return {
        "volumes": [image, {"name": "b", "emptyDir": {}}],
        "containers": [{"name": "c", "volumeMounts": mounts}],
        "initContainers": [{"name": "d", "volumeMounts": mounts[:1]}],
    }


def within(kind: str, spec: Manifest) -> Manifest:
    template = {"template": {"spec": spec}}
    whole = {"Pod": {"spec": spec}, "PodTemplate": template, "CronJob": {"spec": {"jobTemplate": {"spec": template}}}}
    return whole.get(kind, {"spec": template})


KINDS = ("Pod", "PodTemplate", "Deployment", "Job", "CronJob")


@pytest.mark.parametrize("kind", KINDS)
@cases(
    "given, want",
    ("nothing but the signal", pod_spec(lifecycle={**STOP}), pod_spec()),
    ("a handler too", pod_spec(lifecycle={**STOP, **SLEEP}), pod_spec(lifecycle=SLEEP)),
    ("a lifecycle that says nothing", pod_spec(lifecycle={}), pod_spec(lifecycle={})),
    ("restart policy of a container", pod_spec(restartPolicy="Always"), pod_spec()),
)
def test_lifecycle_goes_with_its_last_field(kind: str, given: Manifest, want: Manifest) -> None:
    spec = {"containers": [dict(each) for each in given["containers"]]}
    for container in spec["containers"]:
        container |= {"lifecycle": dict(container["lifecycle"])} if "lifecycle" in container else {}
    manifest = within(kind, spec)
    drop_disabled(manifest, None, kind)
    assert manifest == within(kind, want)


@pytest.mark.parametrize("kind", KINDS)
def test_volumes_of_images_go_with_their_mounts(kind: str) -> None:
    manifest = within(kind, with_volumes())
    drop_disabled(manifest, None, kind)
    assert manifest == within(kind,
                              {"volumes": [{"name": "b", "emptyDir": {}}],
                               "containers": [{"name": "c", "volumeMounts": [{"name": "b", "mountPath": "/b"}]}],
                               "initContainers": [{"name": "d"}]})  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", [pod_spec(lifecycle=STOP), with_volumes()], ids=["stop signal", "image"])
def test_what_was_there_before_stays(kind: str, spec: Manifest) -> None:
    manifest = within(kind, spec)
    before = repr(manifest)
    drop_disabled(manifest, within(kind, spec), kind)
    assert repr(manifest) == before
