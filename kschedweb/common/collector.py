"""Python's garbage collector where much is kept for long: what a full collection would visit in vain.

An engine with 30,000 pods is a few hundred thousand objects that stay; a full collection in the middle of a step costs
as much as a thousand cycles. Counting references still frees whatever is dropped.
"""

import gc


def settle() -> None:
    """What lives now will live on: collect what garbage there is, and let later collections pass over the rest."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
