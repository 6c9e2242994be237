"""Rows of the seed documents' coverage that are history or surroundings, with the reason why nothing is built.

Read as text for docs/coverage.md: a plain literal only.
"""

# Document → row → reason.
BACKGROUND = {
    "002": {"etcd/API server roles (background)": "not a mechanism"},
    "004": {"deprecated kubelet garbage-collection flags": "deprecated, and without effect on scheduling"},
}
