"""The allocator of a process with many threads that come and go: what they have freed goes back to the system.

glibc gives large blocks back at once, until the first one is freed: then up to 32 MiB counts as small, and what is
small it keeps for the thread that had it. Answers and hashes of some 10 MB so left a web process of 160 MB with more
than a gigabyte. Other C libraries are left as they are.
"""

import ctypes

M_MMAP_THRESHOLD = -3
# From this size on a block is large: what glibc begins with. Said aloud, it stays.
LARGE_BYTES = 128 * 1024


def give_back_freed() -> None:
    """For a process that has not started its threads yet."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
