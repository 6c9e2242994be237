"""What happens at Otter Post: Jobs all the time, and the events of each round of eight minutes."""

from __future__ import annotations

from typing import Final

from scheduler_core.sim.demo import Rollout, Script
from scheduler_core.sim.otter_post.jobs import HAIRBALL, JOBS, LAUNCH, RIPPLE, TRAWL
from scheduler_core.sim.otter_post.nodes import names_of_pool
from scheduler_core.sim.otter_post.specs import REGISTRY

MAX_PODS: Final = 400

SCRIPT: Final = Script(
    rollouts=tuple(
        Rollout(namespace, name, f"{REGISTRY}/{name}")
        for namespace, name in (
            ("dispatch", "paddle-router"),
            ("tracking", "where-is-my-parcel"),
            ("web", "storefront"),
        )
    ),
    jobs=JOBS,
    of_round=((150, TRAWL), (160, RIPPLE), (180, LAUNCH), (300, HAIRBALL)),
    disturbed=names_of_pool("general"),
    max_pods=MAX_PODS,
)
