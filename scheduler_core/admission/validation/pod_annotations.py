"""Annotations of pods and templates that mean something to the API server.

Source: kubernetes v1.34.1, pkg/apis/core/validation and pkg/apis/core/helper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scheduler_core.admission.app_armor import ANNOTATION_PREFIX
from scheduler_core.admission.context import Manifest, Problem, invalid
from scheduler_core.admission.validation.formats import descending_path

_MOST_DIGITS: Final = 10  # of a number of 32 bits
_MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES: Final = ("runtime/default", "docker/default", "unconfined")
_LOCALHOST: Final = "localhost/"


def pod_annotation_problems(path: str, annotations: Mapping[str, str], spec: Manifest) -> Iterator[Problem]:
    """Of the annotations at this path, which belong to the spec."""
    if _MIRROR in annotations and not spec.get("nodeName"):
        yield invalid(
            f"{path}[{_MIRROR}]", annotations[_MIRROR], "must set spec.nodeName if mirror pod annotation is set"
        )
    if _DELETION_COST in annotations and not _is_cost(annotations[_DELETION_COST]):
        yield invalid(f"{path}[{_DELETION_COST}]", annotations[_DELETION_COST], "must be a 32bit integer")
    for key, value in annotations.items():
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            yield from _seccomp(f"{path}.{key}", value)
    for key, value in annotations.items():
        if key.startswith(ANNOTATION_PREFIX):
            yield from _app_armor(f"{path}[{key}]", key.removeprefix(ANNOTATION_PREFIX), value, spec)


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    return is_number and (text == "0" or text[0] != "0") and -(2**31) <= int(text) < 2**31


def _seccomp(path: str, value: str) -> Iterator[Problem]:
    if value.startswith(_LOCALHOST):
        yield from descending_path(path, value.removeprefix(_LOCALHOST))
    elif value not in _PROFILES:
        yield invalid(path, value, "must be a valid seccomp profile")


def _app_armor(path: str, container: str, value: str, spec: Manifest) -> Iterator[Problem]:
    fields = ("initContainers", "containers", "ephemeralContainers")
    if not any(one["name"] == container for field in fields for one in spec.get(field) or ()):
        yield invalid(path, container, "container not found")
    if value not in ("", "runtime/default", "unconfined") and not value.startswith(_LOCALHOST):
        yield invalid(path, value, f'invalid AppArmor profile name: "{value}"')
