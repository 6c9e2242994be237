"""Clusters, who schedules them, and how much of their past is stored."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from kschedweb.views.base import ACTING, Input, Moment, Page, View, doc, number, text
from kschedweb.views.history import History
from kschedweb.views.pending import Pending

ControllerGroup = Literal[
    "kubelet", "volumes", "disruption", "garbage", "namespaces", "quotas", "devices", "nodes", "workloads"
]
Pace = Literal["run", "slow", "pause"]
ClockMode = Literal["real", "factor", "fast"]
LifecycleMode = Annotated[Literal["frozen", "simulate"], doc(ACTING)]
MAX_RETENTION = 10_000_000


class Cluster(View):
    """A cluster with its settings."""

    id: int
    name: str
    lifecycle_mode: LifecycleMode
    pace: Pace
    pace_rate: Annotated[float | None, doc("cycles per second while the pace is slow")]
    seed: int
    is_sample: bool
    is_mirror: Annotated[bool, doc("whether it follows a cluster elsewhere, and is only read here")] = False
    is_synced: Annotated[bool, doc("of a mirror: whether all objects are here, so that decisions can be made")] = True
    is_record: Annotated[bool, doc("whether it is a history from a file, in which nothing happens any more")] = False
    description: Annotated[str, doc("what the cluster is for, in the words of its admins")] = ""
    external_controllers: Annotated[
        Sequence[ControllerGroup],
        doc("controllers whose work is done from outside; others are simulated"),
    ] = ()
    config_version: Annotated[int, doc("of the scheduler's configuration")] = 1
    scheduler_problem: Annotated[
        str, doc("why the configuration in force cannot be used; empty when it is what the scheduler runs under")
    ] = ""
    profiles: Annotated[
        Sequence[str],
        doc("names of the profiles the scheduler has: pods with another schedulerName are none of its; empty: unknown"),
    ] = ()
    retention_hours: Annotated[int, doc("how long logs, attempts and events are kept")] = 168
    retention_mb: Annotated[int, doc("how much disk space they may take")] = 4096
    clock_mode: Annotated[
        ClockMode, doc("time passes as on the wall, so many times as fast, or as fast as all that is due can be done")
    ] = "real"
    clock_rate: Annotated[float | None, doc("how many times as fast as the wall's; of the mode factor")] = None
    clock_until_us: Annotated[
        int | None,
        doc("where a skip ends, in microseconds; 0: at what is due next; null: nothing is skipped"),
    ] = None


class ClusterDetail(Cluster, kw_only=True):
    """A cluster with the number of its objects."""

    objects: Annotated[Mapping[str, int], doc("by kind")]
    history: Annotated[History | None, doc("whether the record is proven; null: nothing was looked at yet")] = None


class ClusterPage(Page[Cluster]):
    """A page of clusters."""


class Leadership(View):
    """Who schedules a cluster."""

    worker: Annotated[str, doc("who holds the lease, or held it last; empty when it is free")]
    is_led: Annotated[bool, doc("whether the lease is in force")]
    renewed_seconds_ago: float
    lease_duration_seconds: float
    transitions: Annotated[int, doc("how often the leader changed")]
    epoch: Annotated[int, doc("of the fence: raised by every takeover")]
    is_synced: Annotated[bool, doc("whether the leader has built its engine")]
    lag: Annotated[int, doc("changes its engine has not seen yet")]


class StorageTable(View):
    """Size of one table, as far as it holds the cluster's past."""

    table: str
    rows: int
    bytes: Annotated[int, doc("estimated from a sample")]


class Storage(View):
    """How much space the past of a cluster takes, and since when it is kept."""

    tables: Sequence[StorageTable]
    bytes: int
    retention_hours: int
    retention_mb: int
    oldest_at: Moment | None
    checkpoints: int


class Pruned(View):
    """What was deleted of a cluster's past."""

    cut_at: Annotated[Moment | None, doc("of the checkpoint up to which everything was deleted")]
    rows: Annotated[Mapping[str, int], doc("by table")]
    more: Annotated[bool, doc("the time limit was reached: ask again")]
    waits_for_checkpoint: Annotated[
        bool, doc("there is something to delete, but no checkpoint from then to continue from")
    ]


class Overcommit(View):
    """A node whose pods request more of a resource than it has."""

    node: str
    resource: str
    used: int
    allocatable: int


class Summary(View):
    """How far scheduling has come."""

    objects: Annotated[Mapping[str, int], doc("by kind")]
    pending: Pending
    overcommitted: Annotated[Sequence[Overcommit], doc("empty unless the scheduler has a bug")]


class Digest(View):
    """A digest over the first attempt of each pod, and how many pods had one."""

    digest: str
    attempts: int
    scheduled: int


class ClusterCreate(Input):
    """A cluster to make."""

    name: Annotated[str, text(63)]
    seed: Annotated[int, number(-(2**63), 2**63 - 1, "of every draw among equal nodes")] = 0
    lifecycle_mode: LifecycleMode = "frozen"
    external_controllers: Annotated[Sequence[ControllerGroup], doc("whose work is done from outside")] = ()


class ClusterChange(Input):
    """Settings to change; what is left out stays."""

    name: Annotated[str, text(63)] | UnsetType = UNSET
    description: Annotated[str, text(500, least=0)] | UnsetType = UNSET
    lifecycle_mode: LifecycleMode | UnsetType = UNSET
    external_controllers: Annotated[Sequence[ControllerGroup], doc("whose work is done from outside")] | UnsetType = (
        UNSET
    )
    retention_hours: (
        Annotated[int, number(1, MAX_RETENTION, "how long logs, attempts and events are kept")] | UnsetType
    ) = UNSET
    retention_mb: Annotated[int, number(64, MAX_RETENTION, "how much disk space they may take")] | UnsetType = UNSET


class PaceChange(Input):
    """How fast to schedule; what is left out stays."""

    pace: Pace | UnsetType = UNSET
    rate: Annotated[float, doc("cycles per second while the pace is slow")] | UnsetType = UNSET
    steps: Annotated[int, doc("cycles to make while the pace is pause")] | UnsetType = UNSET


class Clock(View):
    """The time in a cluster. Times are microseconds since 1970."""

    mode: ClockMode
    rate: Annotated[float | None, doc("how many times as fast as the wall's; of the mode factor")]
    now_us: Annotated[int, doc("the time in the cluster")]
    wall_us: Annotated[int, doc("the time on the wall")]
    until_us: Annotated[
        int | None, doc("where a skip ends; 0: at the next thing that is due; null: nothing is skipped")
    ]
    next_due_us: Annotated[int | None, doc("when something happens without a change; null: never")]
    waits_for_scheduler: Annotated[
        bool, doc("whether time stands still until the scheduler has done what is due; it does not while it is real")
    ]


class ClockChange(Input):
    """How time passes; what is left out stays."""

    mode: ClockMode | UnsetType = UNSET
    rate: Annotated[float, doc("how many times as fast as the wall's; required by the mode factor")] | UnsetType = UNSET
    skip: Annotated[Literal["next", "stop"], doc("go to the next thing that is due, or stop skipping")] | UnsetType = (
        UNSET
    )
    skip_seconds: Annotated[float, doc("how far to go as fast as all that is due can be done")] | UnsetType = UNSET


class Wall(View):
    """When on the wall a cluster had a time, to within a second."""

    wall: Moment


class WallQuery(Input):
    """A time in the cluster."""

    at: Annotated[Moment, doc("a time in the cluster")]


class Prune(Input):
    """How much of the past to keep, where that is not what the cluster's settings say."""

    hours: Annotated[float, msgspec.Meta(ge=0, le=MAX_RETENTION)] | UnsetType = UNSET
    megabytes: Annotated[float, msgspec.Meta(ge=0, le=MAX_RETENTION)] | UnsetType = UNSET
