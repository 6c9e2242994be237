"""Whether and when a container that ended is started again.

The first restart is made at once. Each further one waits from the end of the run before, 10 s at first and twice as
long each time, up to 300 s. A container that ran for more than ten minutes begins anew. Times are microseconds.

Source: kubernetes v1.34.1, pkg/kubelet/kuberuntime/kuberuntime_manager.go (doBackOff), client-go util/flowcontrol.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.api.pod import Container, Pod
from scheduler_core.config.duration import Duration

SECOND: Final = 1_000_000
FIRST_US: Final = 10 * SECOND
LONGEST_US: Final = 300 * SECOND
STABLE_US: Final = 2 * LONGEST_US  # who ran longer than this begins anew
_STEPS: Final = (FIRST_US, 20 * SECOND, 40 * SECOND, 80 * SECOND, 160 * SECOND, LONGEST_US)
_BACK_OFF: Final = "back-off "
_ROUNDED_US: Final = SECOND  # times in objects are whole seconds


def should_restart(container: Container, policy: str, exit_code: int, *, is_init: bool) -> bool:
    """Return whether a container that ended is started again; `policy` is the pod's.

    Sidecars always are, other init containers only until they succeed.
    """
    if is_init and container.is_restartable_init:
        return True
    if policy == "Never":
        return False
    if policy == "OnFailure" or is_init:
        return exit_code != 0
    return True


def delay_us(ran_us: int, waited_us: int | None) -> int:
    """Return how long the next restart waits after a run.

    `waited_us` is how long that run had waited for its own start, None for the first run of all.
    """
    if waited_us is None or ran_us > STABLE_US:
        return 0
    if waited_us < FIRST_US - _ROUNDED_US:
        return FIRST_US
    step = max(step for step in _STEPS if step <= waited_us + _ROUNDED_US)
    return min(2 * step, LONGEST_US)


def back_off_text(pod: Pod, container: str, wait_us: int) -> str:
    """Return what the status of a container says that waits for its restart."""
    return f"{_BACK_OFF}{Duration(wait_us)} restarting failed container={container} pod={_pod_text(pod)}"


def back_off_event_text(pod: Pod, container: str) -> str:
    """Return what the event says."""
    return f"Back-off restarting failed container {container} in pod {_pod_text(pod)}"


def back_off_told(message: str) -> int:
    """Return the wait that `back_off_text` told; 10 s where it cannot be read."""
    wait = message.removeprefix(_BACK_OFF).partition(" ")[0]
    try:
        return min(Duration.parse(wait).us, LONGEST_US) if message.startswith(_BACK_OFF) else FIRST_US
    except ValueError:
        return FIRST_US


def _pod_text(pod: Pod) -> str:
    return f"{pod.name}_{pod.namespace}({pod.uid})"
