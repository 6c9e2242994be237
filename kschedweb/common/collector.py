"""Python's garbage collector where much is kept for long: what a full collection would visit in vain.

An engine with 30,000 pods is a few hundred thousand objects that stay; a full collection in the middle of a step costs
as much as a thousand cycles. Counting references still frees whatever is dropped.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks for garbage: a step or a frame makes thousands that are all in use until it ends.
YOUNG_OBJECTS = 20_000
# Objects of clusters read to stay before it pays to look through everything, which takes tenths of a second.
WORTH_SETTLING = 5_000
_has_set_aside = False  # this process, not its parent
_unsettled = 0


def pause() -> None:
    """Until `settle`: what loads modules makes no garbage, and looking for some takes a fifth of its time."""
    gc.disable()


def ease() -> None:
    """For a process of the service that has been loaded: pass over what was loaded, and look for garbage less often."""
    settle()
    ease_child()


def ease_child() -> None:
    """The same for a child of a process that has settled. A look for garbage writes to every object, so that a child
    that looked through what its parent had loaded would have a copy of its own of all that memory."""
    global _has_set_aside
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 20)
    _has_set_aside = False


def settle() -> None:
    """What lives now will live on: collect what garbage there is, and let later collections pass over the rest."""
    global _has_set_aside, _unsettled
    if _has_set_aside:
        gc.unfreeze()  # some of it may be garbage by now
    gc.collect()
    gc.freeze()
    gc.enable()
    _has_set_aside = True
    _unsettled = 0


def settle_after(objects: int) -> None:
    """Settle once so many objects of clusters have been read to stay, since it was last done, that it pays."""
    global _unsettled
    _unsettled += objects
    if _unsettled >= WORTH_SETTLING:
        settle()


@contextmanager
def without_collecting() -> Iterator[None]:
    """An engine is made of objects that stay: to look for garbage among them takes as long again.

    What is garbage meanwhile is found afterwards; counting references frees nearly all of it at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
