"""What the containers of a pod use, as their annotations say; nothing where they say nothing.

`kschedweb.io/usage-memory` is of the first container, `kschedweb.io/usage-memory.<container>` of that one,
`kschedweb.io/usage-volumes.<volume>` of that emptyDir volume. Time counts from the start of the container's run. A text
that `usage.parse_usage` refuses counts as not given.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from scheduler_core.api.pod import Container, Pod
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.annotations import PREFIX
from scheduler_core.controllers.kubelet.usage import Usage, parse_usage

USAGE: Final = f"{PREFIX}usage-"
MEMORY: Final = "memory"
CPU: Final = "cpu"
WRITABLE: Final = "ephemeral-storage"  # what a container writes into its own file system
LOGS: Final = "logs"
VOLUMES: Final = "volumes"  # local volumes of the pod, emptyDir
INODES: Final = "inodes"
PIDS: Final = "pids"
RESOURCES: Final = (MEMORY, CPU, WRITABLE, LOGS, VOLUMES, INODES, PIDS)


class Used(msgspec.Struct, frozen=True, gc=False):
    """The model of one resource of one container that runs since `started`, in microseconds.

    Of an emptyDir volume that an annotation names, `container` is the name of the volume.
    """

    container: str
    resource: str
    model: Usage
    started: int

    def at(self, now: int) -> int:
        """Return the amount at that time."""
        return self.model.at(now - self.started)


def has_usage(pod: Pod) -> bool:
    """Return whether the pod says that it uses anything."""
    annotations = pod.metadata.annotations
    return annotations is not None and any(name.startswith(USAGE) for name in annotations)


def used_by(pod: Pod) -> tuple[Used, ...]:
    """Return what the running containers of the pod use."""
    if not has_usage(pod):
        return ()
    since = {
        one.name: microseconds(one.state.running.started_at)
        for one in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
        if one.state is not None and one.state.running is not None and one.state.running.started_at is not None
    }
    used = tuple(
        Used(container.name, resource, model, since[container.name])
        for container in (*(pod.spec.init_containers or ()), *pod.spec.containers)
        if container.name in since
        for resource in RESOURCES
        if (model := _model(pod, container, resource)) is not None
    )
    return (*used, *_volumes_used(pod)) if pod.spec.volumes else used


def _volumes_used(pod: Pod) -> Iterator[Used]:
    """What is in the emptyDir volumes that annotations name, since the pod was started."""
    containers = {one.name for one in (*(pod.spec.init_containers or ()), *pod.spec.containers)}
    for volume in pod.spec.volumes or ():
        text = pod.annotations.get(f"{USAGE}{VOLUMES}.{volume.name}")
        model = None if text is None or volume.empty_dir is None else model_of(VOLUMES, text)
        if model is not None and pod.status.start_time is not None and volume.name not in containers:
            yield Used(volume.name, VOLUMES, model, microseconds(pod.status.start_time))


def memory_exceeded_us(pod: Pod, container: Container) -> int | None:
    """Return when, after its start, a container uses more memory than its limit; None when it never does."""
    limits = container.resources.limits
    limit = limits.get(MEMORY) if limits is not None else None
    model = _model(pod, container, MEMORY) if limit is not None else None
    return model.first_above(limit.value()) if limit is not None and model is not None else None


def _model(pod: Pod, container: Container, resource: str) -> Usage | None:
    annotations = pod.annotations
    text = annotations.get(f"{USAGE}{resource}.{container.name}")
    if text is None and pod.spec.containers and container.name == pod.spec.containers[0].name:
        text = annotations.get(f"{USAGE}{resource}")
    return None if text is None else model_of(resource, text)


@lru_cache(maxsize=4096)
def model_of(resource: str, text: str) -> Usage | None:
    """Return the model of a text; None when it cannot be read."""
    try:
        return parse_usage(resource, text)
    except ValueError:
        return None
