"""What the standards forbid in a pod, check by check: the reason and the detail of each one that fails.

A check applies from the minor version it stands beside. Containers are visited in the order init, ordinary, ephemeral.
Source: kubernetes v1.34.1, staging/src/k8s.io/pod-security-admission/policy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scheduler_core.admission.context import Manifest
from scheduler_core.admission.pod_security.policy import BASELINE, LATEST_MINOR, PRIVILEGED, Standard

_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
        "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
_SYSCTLS: Final = (  # from which minor version they are allowed
    (0, "kernel.shm_rmid_forced"), (0, "net.ipv4.ip_local_port_range"), (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"), (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"), (29, "net.ipv4.tcp_keepalive_time"), (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"), (29, "net.ipv4.tcp_keepalive_probes"), (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
)  # fmt: skip
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t")
_PLAIN_VOLUMES: Final = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
        "secret",
    }
)  # fmt: skip
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES: Final = ("RuntimeDefault", "Localhost")


@dataclass(frozen=True, slots=True)
class Violation:
    """What a pod does that a standard forbids."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


@dataclass(frozen=True, slots=True)
class Examined:
    """A pod, or a template of pods, under a version of the standards."""

    annotations: Manifest
    spec: Manifest
    minor: int

    @property
    def security(self) -> Manifest:
        return self.spec.get("securityContext") or {}

    @property
    def is_windows(self) -> bool:
        return (self.spec.get("os") or {}).get("name") == "windows"

    def containers(self) -> Iterator[tuple[str, Manifest, Manifest]]:
        """(name, container, its security context)."""
        for field in ("initContainers", "containers", "ephemeralContainers"):
            for container in self.spec.get(field) or ():
                yield container["name"], container, container.get("securityContext") or {}


Check = Callable[[Examined], Violation | None]


def violations(metadata: Manifest, spec: Manifest, standard: Standard) -> list[Violation]:
    """Everything that the standard forbids in the pod."""
    if standard.level == PRIVILEGED:
        return []
    minor = LATEST_MINOR if standard.minor is None else min(standard.minor, LATEST_MINOR)
    pod = Examined(metadata.get("annotations") or {}, spec, minor)
    found = (check(pod) for check in _checks(standard.level, minor))
    return [one for one in found if one is not None]


def _checks(level: str, minor: int) -> Iterable[Check]:
    if level == BASELINE:
        return [check for since, check, _ in _BASELINE if since <= minor]
    baseline = [check for since, check, replaced in _BASELINE if since <= minor < replaced]
    return [*baseline, *(check for since, check in _RESTRICTED if since <= minor)]


def _names(names: Sequence[str], what: str = "container") -> str:
    """`containers "a", "b"`."""
    return f"{what if len(names) == 1 else f'{what}s'} {_quoted(names)}"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _setters(is_pod: bool, containers: Sequence[str]) -> str:
    """Who sets a field as it should not: the pod, containers or both; empty for nobody."""
    return " and ".join([*(["pod"] if is_pod else []), *([_names(containers)] if containers else [])])


def _app_armor(pod: Examined) -> Violation | None:
    own = pod.security.get("appArmorProfile")
    is_pod = own is not None and own["type"] not in _PROFILES
    values = {own["type"]} if is_pod and own is not None else set()
    containers = []
    for name, _, security in pod.containers():
        profile = security.get("appArmorProfile")
        if profile is not None and profile["type"] not in _PROFILES:
            containers.append(name)
            values.add(profile["type"])
    annotations = sorted(
        f"{key}={json.dumps(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    who = _setters(is_pod, containers)
    if annotations:
        who += (" and " if who else "") + ("annotation" if len(annotations) == 1 else "annotations")
    shown = [*sorted(values), *annotations]
    if not who:
        return None
    reason = "forbidden AppArmor profile" if len(shown) == 1 else "forbidden AppArmor profiles"
    return Violation(reason, f"{who} must not set AppArmor profile type to {_quoted(shown)}")


def _capabilities(pod: Examined) -> Violation | None:
    bad, added = _adding(pod, _CAPABILITIES)
    if not bad:
        return None
    detail = f"{_names(bad)} must not include {_quoted(added)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _adding(pod: Examined, allowed: Iterable[str]) -> tuple[list[str], list[str]]:
    """(containers that add other capabilities, these capabilities)."""
    bad, added = [], set()
    for name, _, security in pod.containers():
        others = {one for one in (security.get("capabilities") or {}).get("add") or () if one not in allowed}
        if others:
            bad.append(name)
            added |= others
    return bad, sorted(added)


def _host_namespaces(pod: Examined) -> Violation | None:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(field)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_paths(pod: Examined) -> Violation | None:
    names = [volume["name"] for volume in pod.spec.get("volumes") or () if "hostPath" in volume]
    return Violation("hostPath volumes", _names(names, "volume")) if names else None


def _host_ports(pod: Examined) -> Violation | None:
    bad, ports = [], set()
    for name, container, _ in pod.containers():
        used = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if used:
            bad.append(name)
            ports |= used
    return Violation("hostPort", _used(bad, "hostPort", ", ".join(sorted(ports)), len(ports))) if bad else None


def _used(who: Sequence[str], what: str, shown: str, count: int, holder: str = "container") -> str:
    verb = "uses" if len(who) == 1 else "use"
    return f"{_names(who, holder)} {verb} {what if count == 1 else f'{what}s'} {shown}"


def _host_probes(pod: Examined) -> Violation | None:
    bad, hosts = set(), set()
    for name, container, _ in pod.containers():
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        for handler in handlers:
            for action in ("httpGet", "tcpSocket"):
                host = ((handler or {}).get(action) or {}).get("host")
                if host:
                    bad.add(name)
                    hosts.add(host)
    if not bad:
        return None
    detail = _used(sorted(bad), "probe or lifecycle host", _quoted(sorted(hosts)), len(hosts))
    return Violation("probe or lifecycle host", detail)


def _privileged(pod: Examined) -> Violation | None:
    bad = [name for name, _, security in pod.containers() if security.get("privileged")]
    return Violation("privileged", f"{_names(bad)} must not set securityContext.privileged=true") if bad else None


def _proc_mount(pod: Examined) -> Violation | None:
    mounts = [(name, security.get("procMount", "Default")) for name, _, security in pod.containers()]
    bad = [name for name, mount in mounts if mount != "Default"]
    if not bad:
        return None
    used = _quoted(sorted({mount for _, mount in mounts} - {"Default"}))
    return Violation("procMount", f"{_names(bad)} must not set securityContext.procMount to {used}")


def _selinux(pod: Examined) -> Violation | None:
    allowed = (*_SELINUX_TYPES, *(("container_engine_t",) if pod.minor >= 31 else ()))
    used: list[Manifest] = []

    def is_bad(security: Manifest) -> bool:
        options = security.get("seLinuxOptions") or {}
        wrong = options.get("type", "") not in allowed or bool(options.get("user") or options.get("role"))
        if wrong:
            used.append(options)
        return wrong

    who = _setters(is_bad(pod.security), [name for name, _, security in pod.containers() if is_bad(security)])
    if not who:
        return None
    types = sorted({options.get("type", "") for options in used} - set(allowed))
    told = [_names(types, "type")] if types else []
    told += [f"{field} may not be set" for field in ("user", "role") if any(options.get(field) for options in used)]
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(told)}")


def _seccomp_annotations(pod: Examined) -> Violation | None:
    keys = [_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{name}" for name, _, _ in pod.containers())]
    bad = sorted(
        {
            f"{key}={json.dumps(pod.annotations[key])}"
            for key in keys
            if key in pod.annotations
            and pod.annotations[key] not in ("runtime/default", "docker/default")
            and not pod.annotations[key].startswith("localhost/")
        }
    )
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {'annotation' if len(bad) == 1 else 'annotations'} {', '.join(bad)}")


def _seccomp(pod: Examined) -> Violation | None:
    if pod.minor < 19:
        return _seccomp_annotations(pod)
    own = (pod.security.get("seccompProfile") or {}).get("type")
    profiles = [
        (name, (security.get("seccompProfile") or {}).get("type"))
        for name, _, security in pod.containers()
    ]  # fmt: skip
    is_pod = own is not None and own not in _PROFILES
    bad = [name for name, profile in profiles if profile is not None and profile not in _PROFILES]
    who = _setters(is_pod, bad)
    if not who:
        return None
    used = sorted({one for one in (own, *(profile for _, profile in profiles)) if one is not None} - set(_PROFILES))
    return Violation("seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {_quoted(used)}")


def _sysctls(pod: Examined) -> Violation | None:
    allowed = {name for since, name in _SYSCTLS if since <= pod.minor}
    bad = [one["name"] for one in pod.security.get("sysctls") or () if one["name"] not in allowed]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(pod: Examined) -> Violation | None:
    def is_set(security: Manifest) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    who = _setters(is_set(pod.security), [name for name, _, security in pod.containers() if is_set(security)])
    detail = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if who else None


def _escalation(pod: Examined) -> Violation | None:
    if pod.is_windows and pod.minor >= 25:
        return None
    bad = [name for name, _, security in pod.containers() if security.get("allowPrivilegeEscalation") is not False]
    detail = f"{_names(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if bad else None


def _dropped_capabilities(pod: Examined) -> Violation | None:
    if pod.is_windows and pod.minor >= 25:
        return None
    keeping = [
        name
        for name, _, security in pod.containers()
        if "ALL" not in ((security.get("capabilities") or {}).get("drop") or ())
    ]
    told = [f'{_names(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    bad, added = _adding(pod, ("NET_BIND_SERVICE",))
    if bad:
        told.append(f"{_names(bad)} must not include {_quoted(added)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(told)) if told else None


def _volumes(pod: Examined) -> Violation | None:
    bad, kinds = [], set()
    for volume in pod.spec.get("volumes") or ():
        sources = [field for field in volume if field != "name"]
        if not _PLAIN_VOLUMES.intersection(sources):
            bad.append(volume["name"])
            kinds.add(sources[0] if sources else "unknown")
    if not bad:
        return None
    detail = _used(bad, "restricted volume type", _quoted(sorted(kinds)), len(kinds), "volume")
    return Violation("restricted volume types", detail)


def _non_root(pod: Examined) -> Violation | None:
    own = pod.security.get("runAsNonRoot")
    said = [(name, security.get("runAsNonRoot")) for name, _, security in pod.containers()]
    who = _setters(own is False, [name for name, value in said if value is False])
    if who:
        return Violation("runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, value in said if value is None]
    if not silent or own:
        return None
    return Violation("runAsNonRoot != true", f"pod or {_names(silent)} must set securityContext.runAsNonRoot=true")


def _root_user(pod: Examined) -> Violation | None:
    containers = [name for name, _, security in pod.containers() if security.get("runAsUser") == 0]
    who = _setters(pod.security.get("runAsUser") == 0, containers)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def _set_seccomp(pod: Examined) -> Violation | None:
    if pod.is_windows and pod.minor >= 25:
        return None
    wrong = _seccomp(pod)
    if wrong is not None:
        return wrong
    silent = [name for name, _, security in pod.containers() if "seccompProfile" not in security]
    if not silent or "seccompProfile" in pod.security:
        return None
    allowed = " or ".join(f'"{one}"' for one in _PROFILES)
    detail = f"pod or {_names(silent)} must set securityContext.seccompProfile.type to {allowed}"
    return Violation("seccompProfile", detail)


_NEVER: Final = 1_000
# (first minor version, check, first minor version in which the restricted level has a stricter one instead).
_BASELINE: Final[tuple[tuple[int, Check, int], ...]] = (
    (0, _app_armor, _NEVER), (0, _capabilities, 22), (0, _host_namespaces, _NEVER), (0, _host_paths, 0),
    (0, _host_ports, _NEVER), (34, _host_probes, _NEVER), (0, _privileged, _NEVER), (0, _proc_mount, _NEVER),
    (0, _selinux, _NEVER), (0, _seccomp, 19), (0, _sysctls, _NEVER), (0, _host_process, _NEVER),
)  # fmt: skip
_RESTRICTED: Final[tuple[tuple[int, Check], ...]] = (
    (8, _escalation), (22, _dropped_capabilities), (0, _volumes), (0, _non_root), (23, _root_user), (19, _set_seccomp),
)  # fmt: skip
