"""The allocator of a process with many threads that come and go: what they have freed goes back to the system.

glibc gives large blocks back at once, until the first one is freed: then up to 32 MiB counts as small, and what is
small it keeps for the thread that had it. Answers and hashes of some 10 MB so left a web process of 160 MB with more
than a gigabyte. Threads share two arenas: a mirror reads with twenty, and each would keep what its pages once took.
Other C libraries are left as they are.
"""

import ctypes

M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
# From this size on a block is large: what glibc begins with. Said aloud, it stays.
LARGE_BYTES = 128 * 1024
ARENAS = 2


def give_back_freed() -> None:
    """For a process that has not started its threads yet, and its children."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_ARENA_MAX, ARENAS)


def trim() -> None:
    """After work that took much once: give back what is free between blocks that are in use."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
