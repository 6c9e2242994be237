"""Where the recorded decisions lie: beside the repository, and left out of tests with a word where they are not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from scheduler_core.conformance.files import Recording, read_recordings

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden"

needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="no recorded decisions at ../shared/golden")


@cache
def recordings(family: str) -> tuple[Recording, ...]:
    """All lines of one family."""
    return tuple(read_recordings(GOLDEN / f"{family}.jsonl.gz"))
