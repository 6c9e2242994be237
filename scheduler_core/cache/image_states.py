"""Which nodes have which container image, and how large it is.

The size of the first reporter stays until no node has the image any more. Snapshot copies get the number of nodes as
of copying; a node not copied since keeps a stale number (upstream's lag of ImageLocality).
Source: kubernetes v1.34.1, pkg/scheduler/backend/cache/cache.go (addNodeImageStates).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.node import Node
from scheduler_core.model.node_info import ImageStateSummary


@dataclass(slots=True)
class ImageState:
    size: int
    nodes: set[str] = field(default_factory=set)


class ImageStates:
    """Image name → state. `version` counts the changes, so that unchanged summaries are reused."""

    def __init__(self) -> None:
        self.version = 0
        self._states: dict[str, ImageState] = {}

    def add_node(self, node: Node) -> dict[str, ImageState]:
        """Note the node's images; the states they refer to."""
        referred: dict[str, ImageState] = {}
        for image in node.status.images or ():
            for name in image.names or ():
                state = self._states.get(name)
                if state is None:
                    state = self._states[name] = ImageState(image.size_bytes)
                state.nodes.add(node.name)
                referred.setdefault(name, state)
        self.version += bool(referred)
        return referred

    def remove_node(self, node: Node | None) -> None:
        """Take the node out of the states of its images; one without nodes is dropped."""
        for image in (node.status.images or ()) if node is not None else ():
            for name in image.names or ():
                state = self._states.get(name)
                if state is not None and node is not None:
                    self.version += 1
                    state.nodes.discard(node.name)
                    if not state.nodes:
                        del self._states[name]

    def of_names(self, names: list[str]) -> dict[str, ImageState]:
        """The states a node refers to; a ghost may name images that are gone."""
        return {name: self._states[name] for name in names if name in self._states}

    def names(self) -> list[str]:
        """Of all images, in order of arrival."""
        return list(self._states)

    def put_back(self, node_name: str, states: dict[str, ImageState]) -> None:
        """Have the node's images be these again; one that no other node has was dropped with its size meanwhile."""
        for name, state in states.items():
            state.nodes.add(node_name)
            self._states[name] = state
        self.version += bool(states)

    def put_in_order(self, names: list[str]) -> None:
        """The same images in another order of arrival."""
        self._states = {name: self._states[name] for name in names}

    def dump(self) -> list[Any]:
        return [[name, state.size, sorted(state.nodes)] for name, state in self._states.items()]

    def load(self, dumped: list[Any]) -> None:
        self._states = {name: ImageState(size, set(nodes)) for name, size, nodes in dumped}


def summarize(states: dict[str, ImageState]) -> dict[str, ImageStateSummary]:
    return {name: ImageStateSummary(state.size, len(state.nodes)) for name, state in states.items()}
