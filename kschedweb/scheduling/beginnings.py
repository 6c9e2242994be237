"""What an engine is made of besides objects, configuration and seed, as its first step keeps it.

Bindings under way and numbers of attempts are rows that change later, and feature gates are a setting of the process:
without them nobody could make the engine's steps again.
"""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.common import packing
from scheduler_core.scheduler.recorded import Beginning


def beginning_packed(beginning: Beginning, gates: Mapping[str, bool]) -> bytes:
    """As `EngineStep.began_from` has it."""
    return packing.packed(
        {"in_flight": list(beginning.in_flight), "attempts": dict(beginning.attempts or {}), "gates": dict(gates)}
    )


def beginning_of(content: bytes | memoryview) -> tuple[Beginning, dict[str, bool]]:
    """What was packed, with the feature gates."""
    found = packing.unpacked(content)
    return Beginning([(uid, node) for uid, node in found["in_flight"]], found["attempts"]), found["gates"]
