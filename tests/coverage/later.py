"""Rows of the seed documents' coverage that no test of this folder takes, or takes only in part, with the reason.

Read as text for docs/coverage.md: plain literals only.
"""

# Built later than the scheduling itself: document → row → what it waits for.
LATER = {
    "004": {},
}

# Tested here as far as scheduling goes: document → row → what is left.
PARTLY = {
    "001": {
        "QPS/burst settings": "the limit itself: the live service",
    },
    "004": {
        "known limits of spread (no rebalancing, tainted nodes counted, zones unknown without nodes)": "the user guide",
    },
}

# Told by the documents as history or surroundings: nothing to build.
BACKGROUND = {
    "002": {"etcd/API server roles (background)": "not a mechanism"},
    "004": {"deprecated kubelet garbage-collection flags": "deprecated, and without effect on scheduling"},
}
