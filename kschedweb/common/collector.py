"""Python's garbage collector where much is kept for long: what a full collection would visit in vain.

An engine with 30,000 pods is a few hundred thousand objects that stay; a full collection in the middle of a step costs
as much as a thousand cycles. Counting references still frees whatever is dropped.
"""

import gc

# New objects between two looks for garbage: a step or a frame makes thousands that are all in use until it ends.
YOUNG_OBJECTS = 20_000


def ease() -> None:
    """For a process of the service that has been loaded: pass over what was loaded, and look for garbage less often."""
    settle()
    gc.set_threshold(YOUNG_OBJECTS, 20, 20)


def settle() -> None:
    """What lives now will live on: collect what garbage there is, and let later collections pass over the rest."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
