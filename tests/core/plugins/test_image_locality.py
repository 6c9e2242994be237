"""Images already on a node are worth something, more so where few nodes lack them."""

from __future__ import annotations

from tests.builders import PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, run_score

MIB = 1024 * 1024


@cases(
    "pod, size, holders, want",
    ("300 MiB on 2 of 4 nodes", make_pod().image("app:1"), 300 * MIB, 2, 12),
    ("above the upper threshold", make_pod().image("app:1"), 4000 * MIB, 4, 100),
    ("at the lower threshold", make_pod().image("app:1"), 23 * MIB, 4, 0),
    ("another tag is another image", make_pod().image("app"), 300 * MIB, 2, 0),
    ("used twice", make_pod().container(image="app:1").container(image="app:1"), 300 * MIB, 2, 14),
    ("init containers count", make_pod().container(image="x").init_container(image="app:1"), 300 * MIB, 2, 6),
)
def test_score_weighs_size_by_the_share_of_nodes(pod: PodBuilder, size: int, holders: int, want: int) -> None:
    infos = [make_info(make_node("a"), images={"app:1": (size, holders)})]
    infos += [make_info(make_node(name)) for name in "bcd"]
    assert run_score(make_plugin("ImageLocality", infos=infos), pod.build(), *infos) == [want, 0, 0, 0]


def test_score_reads_a_name_without_tag_as_latest() -> None:
    infos = [make_info(make_node("a"), images={"reg:5000/app:latest": (1000 * MIB, 1)})]
    plugin = make_plugin("ImageLocality", infos=infos)
    assert run_score(plugin, make_pod().image("reg:5000/app").build(), *infos) == [100]


def test_score_rounds_each_image_down() -> None:
    # 3/7 of each size is fractional; added up before rounding, the two would just pass the next point.
    infos = [make_info(make_node("a"), images={"a:1": (1_000_000_000, 3), "b:1": (777_777_777, 3)})]
    infos += [make_info(make_node(f"n{i}")) for i in range(6)]
    pod = make_pod().container(image="a:1").container(image="b:1").build()
    present = int(1_000_000_000 * (3 / 7)) + int(777_777_777 * (3 / 7))
    want = 100 * (present - 23 * MIB) // (2000 * MIB - 23 * MIB)
    assert run_score(make_plugin("ImageLocality", infos=infos), pod, *infos)[0] == want
