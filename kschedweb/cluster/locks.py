"""The one order in which rows of a cluster are locked, so that no two transactions wait for each other."""

from enum import IntEnum


class LockOrder(IntEnum):
    """Tables whose rows are locked, in this order; those of one table by id. The cluster's own row comes last.

    A model names its place as `lock_order`. Who holds the fence may claim work (bindings, evictions) by id before it
    locks objects. Rows of all other tables are written under the fence, or with the cluster's own row locked.
    """

    LEASE = 1
    FENCE = 2
    NODE = 3
    POD = 4
    OBJECT = 5
