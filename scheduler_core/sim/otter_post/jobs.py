"""Otter Post's Jobs: those that arrive all the time, and those that come once in a round of the script."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.controllers.kubelet.pod_usage import MEMORY, USAGE
from scheduler_core.sim.demo import Job
from scheduler_core.sim.otter_post.devices import ONE_HERON, TWO_OSPREYS
from scheduler_core.sim.otter_post.specs import POOL, TOLERATES_GPU, TOLERATES_SPOT, preferred, spec, with_cards

_WHENEVER: Final[dict[str, Any]] = {"priorityClassName": "whenever"}


def _job(
    namespace: str,
    name: str,
    cpu: str,
    memory: str,
    run_seconds: tuple[int, int],
    *,
    share: int = 1,
    pods: int = 4,
    **fields: Any,
) -> Job:
    return Job(namespace, name, spec(name, cpu, memory, **fields), run_seconds, share, pods)


JOBS: Final = (
    _job("tracking", "map-tile-bake", "1", "1Gi", (40, 120), share=3),
    _job("payments", "invoice-run", "500m", "512Mi", (60, 180), share=3),
    _job("platform", "nightly-build", "2", "4Gi", (80, 180), share=2),  # nobody asked which night
    _job("web", "photo-resize", "500m", "256Mi", (30, 80), share=4),
    _job(
        "web",
        "spam-sorter",
        "1",
        "512Mi",
        (40, 120),
        share=2,
        tolerations=[TOLERATES_SPOT],
        affinity=preferred(100, POOL, "spot"),
        **_WHENEVER,
    ),
    _job("platform", "heisenbug-hunt", "100m", "64Mi", (120, 240)),
    _job("ml-lab", "label-otters", "2", "4Gi", (60, 120), pods=2, gpus=1),
)

LAUNCH: Final = _job(
    "web",
    "launch-day-queue",
    "2",
    "1Gi",
    (30, 60),
    pods=30,
    priorityClassName="launch-day",
    nodeSelector={POOL: "general"},
)

# Its memory grows until the node has none left, and it is the one that goes: it uses more than it asked for.
HAIRBALL: Final = Job(
    "attic",
    "hairball",
    spec("hairball", "250m", "512Mi", nodeSelector={POOL: "spot"}, tolerations=[TOLERATES_SPOT]),
    (200, 200),
    annotations={f"{USAGE}{MEMORY}": "ramp(256Mi, 16Gi, 90s)"},
    settings={"backoffLimit": 0},
)

# Two cards each, and three nodes with two: the fourth pod waits until one of the others has ended.
TRAWL: Final = Job(
    "ml-lab",
    "trawl-vision",
    with_cards(spec("trawl-vision", "1", "2Gi", tolerations=[TOLERATES_GPU]), TWO_OSPREYS),
    (50, 70),
    pods=4,
)
# One card each; there are six.
RIPPLE: Final = Job(
    "ml-lab",
    "ripple-render",
    with_cards(spec("ripple-render", "1", "2Gi", tolerations=[TOLERATES_GPU]), ONE_HERON),
    (30, 60),
    pods=3,
)
