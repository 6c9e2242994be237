"""Annotations of pods and templates that mean something to the API server.

Source: kubernetes v1.34.1, pkg/apis/core/validation and pkg/apis/core/helper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scheduler_core.admission.app_armor import ANNOTATION_PREFIX
from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid
from scheduler_core.admission.validation.formats import descending_path
from scheduler_core.admission.validation.windows import containers_of
from scheduler_core.api.go_values import quoted

_MOST_DIGITS: Final = 10  # of a number of 32 bits
MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES: Final = ("runtime/default", "docker/default", "unconfined")
_LOCALHOST: Final = "localhost/"


def pod_annotation_problems(path: str, annotations: Mapping[str, str], spec: Manifest) -> Iterator[Problem]:
    """Of the annotations at this path, which belong to the spec."""
    if MIRROR in annotations and not spec.get("nodeName"):
        yield invalid(
            f"{path}[{MIRROR}]", annotations[MIRROR], "must set spec.nodeName if mirror pod annotation is set"
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
        yield invalid(path, value, f"invalid AppArmor profile name: {quoted(value)}")


def profile_match_problems(path: str, spec: Manifest, annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Where both an annotation and a field say which profile a container has, they agree."""
    context = spec.get("securityContext", {})
    if _SECCOMP_POD in annotations and "seccompProfile" in context:
        at = f"{path}.securityContext.seccompProfile"
        yield from _matches(at, context["seccompProfile"], annotations[_SECCOMP_POD], "seccomp", _PROFILES[:2])
    for at, container in containers_of(path, spec):
        profile = container.get("securityContext", {}).get("seccompProfile")
        value = annotations.get(_SECCOMP_CONTAINER + container["name"])
        if profile is not None and value is not None:
            yield from _matches(f"{at}.securityContext.seccompProfile", profile, value, "seccomp", _PROFILES[:2])
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for at, container in containers_of(path, spec):
        profile = container.get("securityContext", {}).get("appArmorProfile", context.get("appArmorProfile"))
        value = annotations.get(ANNOTATION_PREFIX + container["name"])
        if profile is not None and value is not None:
            yield from _matches(f"{at}.securityContext.appArmorProfile", profile, value, "apparmor", _PROFILES[:1])


def _matches(path: str, profile: Manifest, value: str, what: str, of_runtime: Sequence[str]) -> Iterator[Problem]:
    fits = {
        "Unconfined": value == "unconfined",
        "RuntimeDefault": value in of_runtime,
        "Localhost": value.startswith(_LOCALHOST),
    }
    if not fits.get(profile["type"], True):
        yield forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    elif profile["type"] == "Localhost" and value.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
        yield forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")


def annotation_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """What a pod is a mirror of, and which AppArmor profiles it was made with, stays; its other annotations fit it."""
    path = "metadata.annotations"
    now, before = (each["metadata"].get("annotations") or {} for each in (new, old))
    for verb, keys in (("remove or update", before), ("add", [key for key in now if key not in before])):
        for key in keys:
            if key in before and now.get(key) == before[key]:
                continue
            if key.startswith(ANNOTATION_PREFIX):
                yield forbidden(f"{path}[{key}]", f"may not {verb} AppArmor annotations")
            if key == MIRROR:
                yield forbidden(f"{path}[{key}]", f"may not {verb} mirror pod annotation")
    yield from pod_annotation_problems(path, now, new["spec"])
