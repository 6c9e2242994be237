"""The rows of the page of figures: each with the real scheduler's figure and the target.

`go` is kube-scheduler 1.34.1's best of three in pods per second on a quiet 2-core machine (Go 1.26, GOMAXPROCS 2,
parallelism 16); None where it was not measured, or has no such mode. `target` is None where no rate is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.bench.worker import Job


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement of the page; `section` says in which of its tables it stands."""

    section: str
    job: Job
    go: int | None = None
    target: int | None = None
    least: int | None = None  # below this the target is not only missed

    @property
    def key(self) -> str:
        """A name that no other row has."""
        job = self.job
        size = "".join(f"_{letter}{size}" for letter, size in (("n", job.nodes), ("p", job.pods)) if size is not None)
        return f"{self.section}/{job.word}{size}/{job.level}/{job.trace}{'' if job.reuse else '/no-reuse'}"


GROWTH_NODES = (1_000, 2_000, 5_000, 10_000, 20_000)
# Go's rates at the sizes it was measured with: (workload, nodes) -> pods per second.
GO_GROWTH = {("W1", 1_000): 862, ("W1", 5_000): 672, ("W5", 1_000): 561, ("W5", 5_000): 382}

_TARGETS = (
    ("W1_n5000_e0", 672, 6_700),
    ("W2_n5000_e0", 373, 3_700),
    ("W2H_n5000_e0", 254, 2_500),
    ("W3_n5000_e0", 324, 3_200),
    ("W4_n5000_e0", 352, 3_500),
    ("W5_n5000_e0", 382, 3_800),
    ("W1_n5000_e5", 702, 7_000),
    ("W2_n5000_e5", 210, 2_100),
    ("W3_n5000_e5", 98, 980),
    ("W4_n5000_e5", 52, 520),
    ("W5_n5000_e5", 147, 1_470),
    ("W6_n5000", 61, 610),
    ("W7_n5000_e5", 140, 1_400),
    ("W7F_n5000", 45, 450),
    ("W1_n100_e0", 2_705, 6_000),
    ("W5_n100_e0", 2_177, 5_000),
    ("W1_n1000_e0", 862, 6_700),
    ("W5_n1000_e0", 561, 4_500),
    ("W8_n5000_e0", None, 1_500),
    ("WD_n5000_e0", None, 1_000),
)
_NO_REUSE = (("W1_n5000_e0", 672, 2_000), ("W5_n5000_e0", 382, 1_200))
_LEVEL_2 = (("W1_n1000_e0", 752), ("W1_n5000_e0", 651), ("W5_n1000_e0", 439), ("W5_n5000_e0", 369))
# kube-scheduler's figures are of its level 2, an API in memory that stores nothing; (Go, target, least).
_LEVEL_3 = (("W1_n1000_e0", 752, 1_000, 300), ("W1_n5000_e0", 651, 700, 200), ("W5_n5000_e0", 369, 400, 150))


def rows(folder: str) -> list[Row]:
    """All of them, in the order in which they are measured; `folder` holds the workloads."""

    def job(word: str, level: str = "L1", **others: object) -> Job:
        return Job(word=word, folder=folder, level=level, **others)  # type: ignore[arg-type]

    targets = [Row("targets", job(word), go, target) for word, go, target in _TARGETS]
    no_reuse = [Row("targets", job(word, reuse=False), go, target) for word, go, target in _NO_REUSE]
    level_3 = [Row("level 3", job(word, "L3"), go, target, least) for word, go, target, least in _LEVEL_3]
    level_2 = [Row("level 2", job(word, "L2"), go) for word, go in _LEVEL_2]
    traces = [
        Row("trace", job(word, trace=trace))
        for word in ("W1_n5000_e0", "W5_n5000_e0")
        for trace in ("off", "on", "stored")
    ]
    memory = [Row("memory", job("W5_n5000_e5", pods=5_000))]  # 30,000 pods in the end
    growth = [
        Row("growth", job(f"{workload}_n1000_e0", nodes=nodes), GO_GROWTH.get((workload, nodes)))
        for workload in ("W1", "W5")
        for nodes in GROWTH_NODES
    ]
    return [*targets, *no_reuse, *level_2, *level_3, *traces, *memory, *growth]
