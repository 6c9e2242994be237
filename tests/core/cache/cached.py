"""A log of what a cache says, and pods for it."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from tests.builders import make_pod


class Log(list[tuple[str, dict[str, object]]]):
    def __call__(self, message: str, fields: dict[str, object]) -> None:
        self.append((message, fields))

    @property
    def messages(self) -> list[str]:
        return [message for message, _ in self]


def pod(name: str = "p", node: str = "n", **requests: str) -> Pod:
    return make_pod(name, uid="uid-" + name).req(**(requests or {"cpu": "1"})).on(node).build()
