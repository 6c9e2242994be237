"""How tests wait: for what they mean, however long a busy machine takes to come to it.

A deadline is there for what never comes: a test that is right never sees it. What does not happen is shown by something
that comes after it would have.
"""

from collections.abc import Callable
from threading import Thread

from kschedweb.ops.processes import wait_until

HANG_SECONDS = 180.0


def eventually(happens: Callable[[], object], seen: Callable[[], object] = lambda: "") -> None:
    """Wait until it happens; where it does not, the failure shows what is `seen` instead."""
    assert wait_until(lambda: bool(happens()), seconds=HANG_SECONDS), f"nothing of the kind happens; {seen()}"


def joined(*threads: Thread) -> None:
    """Wait for the end of threads."""
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive(), f"{thread.name} does not end"
