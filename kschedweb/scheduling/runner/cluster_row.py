"""What a step needs of its cluster's row, read when it begins."""

from dataclasses import dataclass

from kschedweb.cluster import clock
from kschedweb.common import bulk
from kschedweb.common.errors import ClusterGoneError
from kschedweb.scheduling.runner.pace import PaceSetting

# Read before every step, hence no query set that is made anew each time.
_CLUSTER = """
SELECT c.rv, c.pace, c.pace_rate, c.pace_steps_requested, c.pace_steps_done, c.config_version, s.checkpoint_wanted,
    c.is_synced, c.is_mirror, c.clock_offset_us, c.clock_at_us
FROM cluster_cluster c LEFT JOIN engine_states s ON s.cluster_id = c.id WHERE c.id = %s
"""


@dataclass(slots=True)
class ClusterRow:
    """What a step needs of the cluster's row, read when it begins."""

    rv: int
    pace: PaceSetting
    config_version: int
    checkpoint_wanted: bool
    is_synced: bool  # the objects of a mirror are all here
    is_mirror: bool
    now: int  # the cluster's time, in microseconds
    is_stepped: bool  # the clock goes by steps, and whoever moves it on wakes the engine


def read_row(cluster_id: int) -> ClusterRow:
    """The row as it is; ClusterGoneError."""
    rows = bulk.read_rows(_CLUSTER, [cluster_id])
    if not rows:
        raise ClusterGoneError(cluster_id)
    rv, pace, rate, requested, done, config_version, wanted, synced, mirror, offset, at = rows[0]
    setting = PaceSetting(pace, rate, max(0, requested - done))
    now = clock.reading(offset, at)
    return ClusterRow(rv, setting, config_version, bool(wanted), synced, mirror, now, at is not None)
