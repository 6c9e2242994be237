"""The memory of a running service's processes, looked at once a second from a thread of its own."""

from __future__ import annotations

import threading

from tools.bench.running import RunningService

SAMPLE_SECONDS = 1.0


class Memory:
    """Samples the memory of the service's processes, pages that several share counted once; the largest sum so far."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._most: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="memory", daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def most_mb(self) -> float:
        return sum(self._most.values())

    @property
    def most_by_process(self) -> dict[str, float]:
        """What each process had when all together had most."""
        return dict(self._most)

    @property
    def told(self) -> str:
        parts = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in self._most.items())
        return f"at most {self.most_mb:.0f} MB ({parts})"

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            found = self._service.memory_mb()
            if sum(found.values()) > self.most_mb:
                self._most = found
