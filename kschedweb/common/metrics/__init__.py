"""What the service measures of itself, over all its processes.

Each process adds up counters and histograms and hands them, once a second while there is something, to Valkey, where
they are summed per cluster; a scrape reads them there, whichever machine it comes to. Gauges are asked of the database
at the scrape. Valkey holds no truth: when it is emptied counters begin at zero again, as after any restart.
"""

from kschedweb.common.metrics.recorder import RECORDER, Samples

__all__ = ["RECORDER", "Samples"]
