"""What is checked of pods for Windows, and of the operating system that a pod names.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid, required, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.api.go_values import json_quoted

_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_NOT_ON_LINUX: Final = "windows options cannot be set for a linux pod"
# In the order in which they are looked at. Flags of the host count only when they are set.
_POD_FIELDS: Final = (
    "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
    "securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser", "securityContext.runAsGroup",
    "securityContext.supplementalGroups", "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)  # fmt: skip
_FLAGS: Final = ("hostPID", "hostIPC")
_CONTAINER_FIELDS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip
_SYSTEMS: Final = ("linux", "windows")
_MOST_SPEC_KIB: Final = 64
_LONGEST_DOMAIN, _LONGEST_USER = 256, 104
_NOT_IN_DOMAINS: Final = frozenset('\\/:*?"<>|')
_NOT_IN_USERS: Final = frozenset('"/\\:;|=,+*?<>@[]')


def containers_of(path: str, spec: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Each container with its path, init containers first."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container


def options_problems(path: str, options: Manifest | None) -> Iterator[Problem]:
    """Of the `windowsOptions` of a pod or a container."""
    if options is None:
        return
    name, spec = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    for problem in formats.subdomain(name) if name is not None else ():
        yield _invalid(f"{path}.gmsaCredentialSpecName", name, problem)
    if spec == "":
        yield _invalid(f"{path}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec.encode()) > _MOST_SPEC_KIB * 1024:
        detail = f"gmsaCredentialSpec size must be under {_MOST_SPEC_KIB} KiB"
        yield _invalid(f"{path}.gmsaCredentialSpec", spec, detail)
    user = options.get("runAsUserName")
    for detail in _user_problems(user) if user is not None else ():
        yield _invalid(f"{path}.runAsUserName", user, f"runAsUserName{detail}")


def _invalid(path: str, value: Any, detail: str) -> Problem:
    """Of a value that the server holds by a pointer."""
    return invalid(path, Shown(json_quoted(value)), detail)


def _user_problems(name: str) -> Iterator[str]:
    """What is wrong with `DOMAIN\\USER`, or a user alone."""
    parts = name.split("\\")
    if not name:
        yield " cannot be an empty string"
        return
    if any(char < " " or char == "\x7f" for char in name):
        yield " cannot contain control characters"
        return
    if len(parts) > 2:
        yield " cannot contain more than one backslash"
        return
    domain, user = parts if len(parts) == 2 else ("", name)
    if len(domain.encode()) >= _LONGEST_DOMAIN:
        yield f"'s Domain length must be under {_LONGEST_DOMAIN} characters"
    if len(parts) == 2 and not (_is_net_bios(domain) or _is_dns(domain)):
        yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif len(user.encode()) > _LONGEST_USER:
        yield f"'s User length must not be longer than {_LONGEST_USER} characters"
    if user and not user.strip(". "):
        yield "'s User cannot contain only periods or spaces"
    if _NOT_IN_USERS & set(user):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def _is_net_bios(domain: str) -> bool:
    return 1 <= len(domain) <= 15 and domain[0] != "." and not _NOT_IN_DOMAINS & set(domain)


def _is_dns(domain: str) -> bool:
    """Labels of letters, digits and dashes inside."""
    return domain.isascii() and all(
        label.replace("-", "a").isalnum() and len(label) <= 63 and label.strip("-") == label
        for label in domain.split(".")
    )


def host_process_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    """Containers that are processes of the host: all or none, and on the host's network."""
    of_pod = _host_process(spec)
    kinds: list[bool] = []
    for at, container in containers_of(path, spec):
        own = _host_process(container)
        if of_pod is not None and own is not None and own != of_pod:
            was = str(of_pod).lower()
            detail = f"pod hostProcess value must be identical if both are specified, was {was}"
            yield invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, detail)
        kinds.append(bool(of_pod if own is None else own))
    if not any(kinds):
        return
    if not all(kinds):
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(f"{path}.hostNetwork", False, detail)


def _host_process(holder: Manifest) -> bool | None:
    found: bool | None = holder.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    return found


def os_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    """Of the system that a pod says it is for, and of what that system does not have."""
    if "os" not in spec:
        return
    name = spec["os"]["name"]
    if not name:
        yield required(f"{path}.os.name", "cannot be empty")
    elif name not in _SYSTEMS:
        yield unsupported(f"{path}.os", name, _SYSTEMS)
    elif name == "linux":
        for at, holder in ((path, spec), *containers_of(path, spec)):
            if "windowsOptions" in holder.get("securityContext", {}):
                yield forbidden(f"{at}.securityContext.windowsOptions", _NOT_ON_LINUX)
    else:
        yield from _windows_problems(path, spec)


def _windows_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    for field in _POD_FIELDS:
        part, _, name = field.rpartition(".")
        holder = spec.get(part, {}) if part else spec
        if name in holder and (holder[name] or name not in _FLAGS):
            yield forbidden(f"{path}.{field}", _NOT_ON_WINDOWS)
    for at, container in containers_of(path, spec):
        for field in _CONTAINER_FIELDS:
            if field in container.get("securityContext", {}):
                yield forbidden(f"{at}.securityContext.{field}", _NOT_ON_WINDOWS)
