"""Nodes and their images in the cache."""

from __future__ import annotations

from scheduler_core.api.derived import zone_key
from scheduler_core.cache.cache import Cache
from tests.builders import make_node
from tests.core.cache.cached import pod


class TestNodes:
    def test_a_removed_node_stays_as_a_ghost_until_its_last_pod_is_gone(self, cache: Cache) -> None:
        cache.add_node(make_node("n").build())
        cache.add_pod(pod())
        cache.remove_node(make_node("n").build())
        dump = cache.dump()
        assert dump.nodes["n"].node is None
        assert (cache.node_count(), cache.pod_count()) == (1, 1)
        cache.remove_pod(pod())
        assert cache.node_count() == 0

    def test_the_dump_begins_with_what_changed_last(self, cache: Cache) -> None:
        for name in ("a", "b", "c"):
            cache.add_node(make_node(name).build())
        cache.assume_pod(pod(node="a"))
        dump = cache.dump()
        assert list(dump.nodes) == ["a", "c", "b"]
        assert dump.assumed_pods == ("uid-p",)
        generations = [info.generation for info in dump.nodes.values()]
        assert generations == sorted(generations, reverse=True)

    def test_generations_never_go_back(self, cache: Cache) -> None:
        cache.add_node(make_node("n").build())
        last = cache.items["n"].info.generation
        cache.remove_node(make_node("n").build())
        cache.add_node(make_node("n").build())
        assert cache.items["n"].info.generation > last

    def test_adding_under_another_zone_leaves_the_node_in_both(self, cache: Cache) -> None:
        """Upstream's: only an update moves it."""
        cache.add_node(make_node("n").zone("a").build())
        cache.add_node(make_node("n").zone("b").build())
        assert cache.tree.num_nodes == 2

    def test_an_update_moves_the_node_to_its_zone(self, cache: Cache) -> None:
        old, new = make_node("n").zone("a").build(), make_node("n").zone("b").build()
        cache.add_node(old)
        cache.update_node(old, new)
        assert cache.tree.dump() == {"zones": [[zone_key(new), ["n"]]], "num_nodes": 1}

    def test_an_update_of_an_unknown_node_adds_it(self, cache: Cache) -> None:
        cache.update_node(None, make_node("n").build())
        assert (cache.tree.num_nodes, cache.items["n"].info.name) == (1, "n")


class TestImages:
    def test_an_image_nobody_has_is_dropped_with_its_size(self, cache: Cache) -> None:
        old = make_node("a").images({"i:1": 10}).build()
        cache.add_node(old)
        cache.update_node(old, make_node("a").build())
        copy = cache.add_node(make_node("b").images({"i:1": 99}).build())
        assert copy.image_states["i:1"].size == 99
