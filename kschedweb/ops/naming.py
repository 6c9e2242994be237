"""Clusters by name, for commands that read the database themselves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kschedweb.ops.telling import no_cluster

if TYPE_CHECKING:
    from kschedweb.cluster.models import Cluster


def cluster_named(name: str) -> Cluster:
    """Return the cluster; exits with a message that names those there are when there is no such one."""
    from kschedweb.cluster.models import Cluster

    known = {each.name: each for each in Cluster.objects.all()}
    if name not in known:
        sys.exit(no_cluster(name, known))
    return known[name]
