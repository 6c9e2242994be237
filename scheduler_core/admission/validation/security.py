"""What is checked of the security contexts of pods and containers.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.app_armor import LONGEST_PROFILE
from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from scheduler_core.admission.validation.formats import MAX_INT32, descending_path
from scheduler_core.admission.validation.windows import options_problems
from scheduler_core.api.go_values import json_quoted
from scheduler_core.api.schema import internal_text

_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_ID_RANGE: Final = f"must be between 0 and {MAX_INT32}, inclusive"
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?", re.ASCII)
_SYSCTL_TEXT: Final = (
    "must have at most 253 characters and match regex"
    r" ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def container_security_problems(path: str, context: Manifest | None, host_users: bool) -> Iterator[Problem]:
    if context is None:
        return
    yield from _ids(path, context, ("runAsUser", "runAsGroup"))
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            yield unsupported(f"{path}.procMount", mount, ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        shown = Shown(internal_text(context, "core.SecurityContext"))
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(path, shown, detail)
        for capability in context.get("capabilities", {}).get("add", ()):
            if capability == "CAP_SYS_ADMIN":
                detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                yield invalid(path, shown, detail)
    yield from options_problems(f"{path}.windowsOptions", context.get("windowsOptions"))
    yield from _app_armor(f"{path}.appArmorProfile", context.get("appArmorProfile"))


def pod_security_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    """The security context of a pod, and its use of the host's namespaces."""
    context = spec.get("securityContext", {})
    at = f"{path}.securityContext"
    yield from _ids(at, context, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(context.get("supplementalGroups", ())):
        yield from id_problems(f"{at}.supplementalGroups[{index}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, detail)
    yield from _sysctls(f"{at}.sysctls", context, spec)
    yield from _policy(at, context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    yield from _seccomp(f"{at}.seccompProfile", context.get("seccompProfile"))
    yield from options_problems(f"{at}.windowsOptions", context.get("windowsOptions"))
    yield from _app_armor(f"{at}.appArmorProfile", context.get("appArmorProfile"))
    yield from _policy(at, context, "supplementalGroupsPolicy", ("Merge", "Strict"))
    yield from _policy(at, context, "seLinuxChangePolicy", ("MountOption", "Recursive"))


def _policy(path: str, context: Manifest, field: str, supported: tuple[str, ...]) -> Iterator[Problem]:
    value = context.get(field)
    if value is not None and value not in supported:
        yield unsupported(f"{path}.{field}", value, supported)


def host_users_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    """A pod with users of its own shares no namespace with the host."""
    if spec.get("hostUsers") is not False:
        return
    for field, name in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield forbidden(f"{path}.{name}", "when `hostUsers` is false")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            if container.get("volumeDevices"):
                yield forbidden(f"{path}.{field}[{index}].volumeDevices", "when `hostUsers` is false")


def _ids(path: str, context: Manifest, fields: tuple[str, ...]) -> Iterator[Problem]:
    for field in fields:
        if field in context:
            yield from id_problems(f"{path}.{field}", context[field])


def id_problems(path: str, number: int) -> Iterator[Problem]:
    if not 0 <= number <= MAX_INT32:
        yield invalid(path, number, _ID_RANGE)


def _seccomp(path: str, profile: Manifest | None) -> Iterator[Problem]:
    if profile is None:
        return
    local, which = profile.get("localhostProfile"), profile["type"]
    yield from _profile_type(f"{path}.type", which, "seccompProfile")
    at = f"{path}.localhostProfile"
    if which != "Localhost":
        if local is not None:
            shown = Shown(internal_text(profile, "core.SeccompProfile"))
            yield invalid(at, shown, "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(at, "must be set when seccomp type is Localhost")
    else:
        yield from descending_path(at, local)


def _app_armor(path: str, profile: Manifest | None) -> Iterator[Problem]:
    if profile is None:
        return
    local, which, at = profile.get("localhostProfile"), profile["type"], f"{path}.localhostProfile"
    yield from _profile_type(f"{path}.type", which, "appArmorProfile")
    if which in ("RuntimeDefault", "Unconfined") and local is not None:
        yield invalid(at, Shown(json_quoted(local)), "can only be set when AppArmor type is Localhost")
    if which != "Localhost":
        return
    if local is not None and local.strip() != local:
        yield invalid(at, local, "must not be padded with whitespace")
    elif not local:
        yield required(at, "must be set when AppArmor type is Localhost")
    if len((local or "").encode()) > LONGEST_PROFILE:
        yield too_long(at, LONGEST_PROFILE)


def _profile_type(path: str, which: str, field: str) -> Iterator[Problem]:
    if not which:
        yield required(path, f"type is required when {field} is set")
    elif which not in _PROFILE_TYPES:
        yield unsupported(path, which, _PROFILE_TYPES)


def _sysctls(path: str, context: Manifest, spec: Manifest) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls", ())):
        at, name = f"{path}[{index}]", sysctl["name"]
        if not name:
            yield required(f"{at}.name")
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            yield invalid(f"{at}.name", name, _SYSCTL_TEXT)
        elif name in seen:
            yield duplicate(f"{at}.name", name)
        seen.add(name)
        if spec.get("hostNetwork") and name.startswith("net."):
            yield invalid(f"{at}.name", name, "may not be specified when 'hostNetwork' is true")
        if spec.get("hostIPC") and name.startswith(("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")):
            yield invalid(f"{at}.name", name, "may not be specified when 'hostIPC' is true")
