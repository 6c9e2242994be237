"""Equal parts of pods become one object, and no pod says anything else than before."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api import manifests
from scheduler_core.api.pod import Pod
from scheduler_core.api.sharing import Sharing
from tests.builders import make_node, make_pod


def pod(name: str, *, cpu: str = "1", tier: str = "web") -> dict[str, Any]:
    made = make_pod(name).req(cpu=cpu).label(tier=tier).toleration(key="gone", operator="Exists", effect="NoExecute")
    return made.manifest()


def shared(sharing: Sharing, manifest: dict[str, Any]) -> Pod:
    made = manifests.convert(manifest, Pod)
    sharing.share(made)
    return made


def test_equal_parts_are_one_object() -> None:
    sharing = Sharing()
    one, two = shared(sharing, pod("one")), shared(sharing, pod("two"))
    assert one.metadata.labels is two.metadata.labels
    assert one.spec.containers is two.spec.containers
    assert one.spec.tolerations is two.spec.tolerations


@pytest.mark.parametrize("given", [{"cpu": "1001m"}, {"cpu": "2"}])
def test_parts_that_differ_stay_apart(given: dict[str, str]) -> None:
    sharing = Sharing()
    one, two = shared(sharing, pod("one")), shared(sharing, pod("two", **given))
    assert one.spec.containers is not two.spec.containers
    assert manifests.encode(two) == manifests.encode(manifests.convert(pod("two", **given), Pod))


def test_pods_say_what_they_said() -> None:
    sharing = Sharing()
    given = [pod("one"), pod("two", tier="db"), pod("three", cpu="3"), pod("four")]
    assert [shared(sharing, each) for each in given] == [manifests.convert(each, Pod) for each in given]


def test_sharing_begins_anew_when_it_knows_too_many_parts() -> None:
    sharing = Sharing(most=2)
    one = shared(sharing, pod("one"))
    two = shared(sharing, pod("two"))
    assert one.spec.containers is not two.spec.containers and one == shared(sharing, pod("one"))


def test_other_kinds_are_left_alone() -> None:
    node = manifests.decode(make_node("n").manifest())
    Sharing().share(node)
    assert node == manifests.decode(make_node("n").manifest())
