"""What is remembered of texts from outside is bounded in entries and in length."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from scheduler_core.api import quantity, resources, syntax
from scheduler_core.api.text_cache import cached_by_text
from scheduler_core.model import types
from scheduler_core.model.types import PodInfo
from tests.builders import make_pod
from tests.cases import cases

MIB = 1 << 20


def test_short_texts_are_remembered_and_long_ones_are_not() -> None:
    asked: list[str] = []

    @cached_by_text(2, longest=3)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length(text) for text in ("a", "a", "four", "four", "b", "c", "a")] == [1, 1, 4, 4, 1, 1, 1]
    assert asked == ["a", "four", "four", "b", "c", "a"]


def pod_info(text: str) -> Any:
    return PodInfo.of(make_pod("p").label(a=text).req(cpu="1").build())


REMEMBERING: list[Any] = [
    ("quantities", quantity.parse, "1." + "{:0590}", 6_000),
    ("qualified names", syntax.qualified_name_problems, "{:010000}", 600),
    ("label values", syntax.label_value_problems, "{:010000}", 600),
    ("native resources", resources.is_native, "{:010000}", 600),
    ("extended resources", resources.is_extended, "a/{:010000}", 600),
    ("scalar resources", resources.is_scalar, "a/{:010000}", 600),
    ("pods", pod_info, "{:050000}", 120),
]


@cases("function, form, times", *REMEMBERING)
def test_texts_from_outside_do_not_fill_the_memory(function: Callable[[str], Any], form: str, times: int) -> None:
    tracemalloc.start()
    try:
        for number in range(times):
            with suppress(ValueError):
                function(form.format(number))
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        types._known_pods.clear()
    assert kept < 2 * MIB
