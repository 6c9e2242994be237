"""Results as lines of text: one per workload, and one under it for what came before its clock."""

from __future__ import annotations

from tools.bench.engine.result import Details, Result
from tools.bench.worker import Job

_FORMAT = "{:<9}{:<6}{:<16}{:>6} {:>9} {:>7} {:>10} {:>10} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}"
HEAD = _FORMAT.format(
    "workload", "level", "trace", "nodes", "existing", "pods", "attempted", "scheduled",
    "pods/s", "best", "p50 ms", "p90 ms", "p99 ms", "CPU ms", "RSS MB", "calib.",
)  # fmt: skip


def lines(result: Result, details: Details, job: Job) -> str:
    """The line of a result, and the one of its details."""
    figures = _FORMAT.format(
        result.workload,
        result.level,
        job.trace + ("" if job.reuse else ", no reuse"),
        result.nodes,
        result.existing_pods,
        result.pods,
        result.attempted,
        result.scheduled,
        f"{result.pods_per_second_median:.0f}",
        f"{result.pods_per_second_best:.0f}",
        f"{result.p50_ms:.3f}",
        f"{result.p90_ms:.3f}",
        f"{result.p99_ms:.3f}",
        f"{result.cpu_ms_per_pod:.3f}",
        f"{result.peak_rss_mb:.0f}",
        f"{result.calibration_ms:.0f}",
    )
    before = f"  before: parse {details.parse_ms:.0f} ms, build {details.build_ms:.0f} ms"
    before += f", snapshot {details.snapshot_ms:.0f} ms"
    if details.bytes_per_attempt:
        before += f"; {details.bytes_per_attempt:.0f} bytes stored per attempt"
    return f"{figures}\n{before}"
