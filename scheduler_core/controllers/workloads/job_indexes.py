"""Completion indexes of an Indexed job: sets of them as its status writes them, and the one of a pod.

Source: kubernetes v1.34.1, pkg/controller/job/indexed_job_utils.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from scheduler_core.api.pod import Pod

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

_NUMBER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_NUMBER: Final = 18
_MOST_INT32: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Indexes:
    """A set of indexes as spans (first, last), ordered and with a gap between each two."""

    spans: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def parse(text: str, completions: int) -> Indexes:
        """Read `0,2-5`; indexes from `completions` on and what cannot be read count as absent."""
        spans = []
        for part in text.split(",") if text else ():
            first, dash, last = part.partition("-")
            if not _is_number(first) or (dash and not _is_number(last)):
                continue
            if int(first) >= completions:
                break
            spans.append((int(first), min(int(last), completions - 1) if dash else int(first)))
        return Indexes().merged(spans)

    def merged(self, spans: Iterable[tuple[int, int]]) -> Indexes:
        """The set with these spans too."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted((*self.spans, *spans)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return Indexes(tuple(merged))

    def plus(self, indexes: Iterable[int]) -> Indexes:
        """The set with these indexes too."""
        return self.merged((index, index) for index in indexes)

    def common(self, other: Indexes) -> int:
        """How many indexes both sets have."""
        return sum(
            max(0, min(last, other_last) - max(first, other_first) + 1)
            for first, last in self.spans
            for other_first, other_last in other.spans
        )

    def missing(self, completions: int) -> Iterator[int]:
        """The indexes below `completions` that are not in the set, in order."""
        begin = 0
        for first, last in self.spans:
            yield from range(begin, min(first, completions))
            begin = last + 1
        yield from range(begin, completions)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.spans)

    def __str__(self) -> str:
        return ",".join(map(_span_text, self.spans))


def completion_index(pod: Pod) -> int | None:
    """The pod's index; None without a usable annotation."""
    text = pod.annotations.get(COMPLETION_INDEX, "")
    index = int(text) if _is_number(text) else -1
    return index if index >= 0 else None


def index_failures(pod: Pod) -> int:
    """How many pods of its index failed before it and were counted."""
    return _count(pod, FAILURE_COUNT)


def all_index_failures(pod: Pod) -> int:
    """How many pods of its index failed before it, ignored ones too."""
    return index_failures(pod) + ignored_failures(pod)


def ignored_failures(pod: Pod) -> int:
    """How many pods of its index failed before it and were ignored."""
    return _count(pod, IGNORED_FAILURE_COUNT)


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) is not None


def _count(pod: Pod, annotation: str) -> int:
    text = pod.annotations.get(annotation, "")
    count = int(text) if _is_number(text) else 0
    return count if 0 <= count <= _MOST_INT32 else 0


def _span_text(span: tuple[int, int]) -> str:
    first, last = span
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
