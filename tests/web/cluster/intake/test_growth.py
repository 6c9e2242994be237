"""The work an upload or a configuration makes grows as its size does, whatever its format and however hard its text."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.cluster.intake import files
from tests.web.cluster.intake.worst_cases import CASES, Make, Take

SIZE = 4_096


def calls(take: Take, content: bytes) -> int:
    """How many functions are called, those of libraries too."""
    counted = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    gc.disable()  # what a collection frees may be anybody's, and has finalizers
    sys.setprofile(count)
    try:
        take(content)
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def most_bytes(take: Take, content: bytes) -> int:
    """The most memory held at once."""
    tracemalloc.start()
    try:
        take(content)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds(take: Take, content: bytes) -> float:
    """The thread's own time, the least of three."""
    found = []
    for _ in range(3):
        started = time.thread_time()
        take(content)
        found.append(time.thread_time() - started)
    return min(found)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_work_grows_as_the_text_does(case: tuple[Take, Make]) -> None:
    take, make = case
    small, large = make(SIZE), make(2 * SIZE)
    take(large)  # whatever is made once is made now, and what is cached of texts that both have
    assert calls(take, large) <= 2.3 * calls(take, small) + 500
    assert most_bytes(take, large) <= 2.5 * most_bytes(take, small) + 100_000


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_time_grows_as_the_text_does(case: tuple[Take, Make]) -> None:
    take, make = case
    take(make(2 * SIZE))
    # What happens within one call, in a parser: for eight times the text a quadratic one takes 64 times as long.
    gc.disable()
    try:
        assert seconds(take, make(64 * SIZE)) <= 24 * seconds(take, make(8 * SIZE)) + 0.05
    finally:
        gc.enable()


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("gzip")])
def test_unpacking_handles_so_many_bytes_as_the_file_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    handled = 0
    real: Callable[..., Any] = zlib.decompressobj

    class Counting:
        """A decompressor that counts what it is given and what it gives back: each is a copy."""

        def __init__(self, **options: Any) -> None:
            self._real = real(**options)

        def decompress(self, content: bytes, most: int) -> bytes:
            nonlocal handled
            unpacked: bytes = self._real.decompress(content, most)
            handled += len(content) + len(unpacked) + len(self.unused_data) + len(self.unconsumed_tail)
            return unpacked

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    monkeypatch.setattr(files.zlib, "decompressobj", Counting)
    take, make = CASES[name]
    sizes = []
    for size in (8 * files.PIECE_BYTES, 16 * files.PIECE_BYTES):
        handled = 0
        take(make(size))
        sizes.append(handled)
    assert sizes[1] <= 2.2 * sizes[0] + 100_000
