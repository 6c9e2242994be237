"""What is checked of a pod's containers.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.amounts import container_resource_name, resource_problems
from scheduler_core.admission.validation.environment import env_from_problems, env_problems
from scheduler_core.admission.validation.formats import named, not_negative, one_of
from scheduler_core.admission.validation.security import container_security_problems

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_ONE_HANDLER: Final = "may not specify more than 1 handler type"
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_INIT_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True)
class PodView:
    """What checks of containers need of their pod."""

    spec: Manifest
    volumes: Mapping[str, Manifest] = field(default_factory=dict)
    claims: frozenset[str] = frozenset()

    @property
    def host_users(self) -> bool:
        return self.spec.get("hostUsers") is not False


def container_problems(path: str, pod: PodView) -> Iterator[Problem]:
    """Of containers, init containers and ephemeral ones, in this order."""
    spec = pod.spec
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{path}.containers")
    names: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}.containers[{index}]"
        yield from _common(at, container, pod)
        yield from _unique(f"{at}.name", container["name"], names)
        yield from _life(at, container, spec)
    yield from _host_ports(f"{path}.containers", containers)
    for index, container in enumerate(spec.get("initContainers", ())):
        at = f"{path}.initContainers[{index}]"
        yield from _common(at, container, pod)
        yield from _unique(f"{at}.name", container["name"], names)
        yield from _host_ports(f"{path}.initContainers", [container])
        if container.get("restartPolicy") == "Always":
            yield from _life(at, container, spec)
        else:
            for name in ("lifecycle", *_PROBES):
                if name in container:
                    yield forbidden(f"{at}.{name}", _INIT_ONLY)
    yield from _ephemeral(path, pod, names)


def padded_image_problems(path: str, container: Manifest) -> Iterator[Problem]:
    """Of a container of a pod; those of a template may have blanks around their image."""
    image = container.get("image", "")
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _ephemeral(path: str, pod: PodView, names: set[str]) -> Iterator[Problem]:
    targets = {one["name"] for field in ("containers", "initContainers") for one in pod.spec.get(field) or ()}
    for index, container in enumerate(pod.spec.get("ephemeralContainers", ())):
        at = f"{path}.ephemeralContainers[{index}]"
        yield from _common(at, container, pod)
        yield from padded_image_problems(at, container)
        yield from _unique(f"{at}.name", container["name"], names)
        target = container.get("targetContainerName")
        if target and target not in targets:
            yield not_found(f"{at}.targetContainerName", target)
        for name in ("ports", "resources", "resizePolicy", "restartPolicy", *_PROBES, "lifecycle"):
            if name in container and (container[name] or name != "resources"):
                yield forbidden(f"{at}.{name}", _NOT_EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts", ())):
            for name in ("subPath", "subPathExpr"):
                if mount.get(name):
                    yield forbidden(f"{at}.volumeMounts[{number}].{name}", _NOT_EPHEMERAL)


def _unique(path: str, name: str, names: set[str]) -> Iterator[Problem]:
    if name and name in names:
        yield duplicate(path, name)
    names.add(name)


def _common(path: str, container: Manifest, pod: PodView) -> Iterator[Problem]:
    name = container["name"]
    if not name:
        yield required(f"{path}.name")
    else:
        yield from named(f"{path}.name", name, formats.label(name))
    if not container.get("image"):
        yield required(f"{path}.image")
    policies = ("File", "FallbackToLogsOnError")
    yield from one_of(f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy"), policies)
    yield from _ports(f"{path}.ports", container.get("ports", ()))
    yield from env_problems(f"{path}.env", container.get("env", ()))
    yield from env_from_problems(f"{path}.envFrom", container.get("envFrom", ()))
    yield from _mounts(f"{path}.volumeMounts", container, pod)
    yield from _devices(f"{path}.volumeDevices", container, pod)
    yield from one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), ("Always", "IfNotPresent", "Never"))
    yield from resource_problems(f"{path}.resources", container["resources"], container_resource_name, pod.claims)
    yield from _resize_policy(f"{path}.resizePolicy", container.get("resizePolicy", ()), pod.spec.get("restartPolicy"))
    yield from container_security_problems(f"{path}.securityContext", container.get("securityContext"), pod.host_users)


def _life(path: str, container: Manifest, spec: Manifest) -> Iterator[Problem]:
    for hook in ("postStart", "preStop"):
        if hook in container.get("lifecycle", ()):
            yield from _handler(f"{path}.lifecycle.{hook}", container["lifecycle"][hook], spec)
    for name in _PROBES:
        if name not in container:
            continue
        probe, at = container[name], f"{path}.{name}"
        yield from _handler(at, probe, spec)
        for number in (
            "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
        ):  # fmt: skip
            yield from not_negative(f"{at}.{number}", probe.get(number))
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is not None and grace <= 0:
            yield invalid(f"{at}.terminationGracePeriodSeconds", grace, "must be greater than 0")
        if name != "readinessProbe" and probe.get("successThreshold", 0) != 1:
            yield invalid(f"{at}.successThreshold", probe.get("successThreshold", 0), "must be 1")
        if name == "readinessProbe" and grace is not None:
            yield invalid(f"{at}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")


def _handler(path: str, handler: Manifest, spec: Manifest) -> Iterator[Problem]:
    found = [name for name in _HANDLERS if name in handler]
    if not found:
        yield required(path, "must specify a handler type")
    for number, name in enumerate(found):
        at, action = f"{path}.{name}", handler[name]
        if number:
            yield forbidden(at, _ONE_HANDLER)
        elif name == "exec":
            if not action.get("command"):
                yield required(f"{at}.command")
        elif name == "httpGet":
            if not action.get("path"):
                yield required(f"{at}.path")
            yield from formats.port_or_name(f"{at}.port", action["port"])
            yield from one_of(f"{at}.scheme", action.get("scheme"), ("HTTP", "HTTPS"))
            for header in action.get("httpHeaders", ()):
                yield from named(f"{at}.httpHeaders", header["name"], formats.header_name(header["name"]))
        elif name == "tcpSocket" or name == "grpc":
            yield from formats.port_or_name(f"{at}.port", action["port"])
        elif name == "sleep":
            grace = spec.get("terminationGracePeriodSeconds")
            if grace is not None and not 0 <= action["seconds"] <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                yield invalid(at, action["seconds"], detail)


def _ports(path: str, ports: Any) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name")
        if name:
            problems = formats.port_name(name)
            yield from named(f"{at}.name", name, problems)
            if not problems and name in seen:
                yield duplicate(f"{at}.name", name)
            seen.add(name)
        number, host = port["containerPort"], port.get("hostPort", 0)
        if not number:
            yield required(f"{at}.containerPort")
        else:
            yield from named(f"{at}.containerPort", number, formats.port_number(number))
        if host:
            yield from named(f"{at}.hostPort", host, formats.port_number(host))
        yield from one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)


def _host_ports(path: str, containers: list[Manifest]) -> Iterator[Problem]:
    """No two containers hold the same port of the host."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in seen:
                yield duplicate(f"{path}[{index}].ports[{number}].hostPort", text)
            seen.add(text)


def _mounts(path: str, container: Manifest, pod: PodView) -> Iterator[Problem]:
    devices = container.get("volumeDevices", ())
    device_names = {device["name"] for device in devices}
    device_paths = {device["devicePath"] for device in devices}
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts", ())):
        at, name, place = f"{path}[{index}]", mount["name"], mount["mountPath"]
        if not name:
            yield required(f"{at}.name")
        if name not in pod.volumes:
            yield not_found(f"{at}.name", name)
        if not place:
            yield required(f"{at}.mountPath")
        if place in seen:
            yield invalid(f"{at}.mountPath", place, "must be unique")
        seen.add(place)
        if name in device_names:
            yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if place in device_paths:
            yield invalid(f"{at}.mountPath", place, "must not already exist as a path in volumeDevices")
        if mount.get("subPath"):
            yield from formats.descending_path(f"{path}.subPath", mount["subPath"])
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                detail = "subPathExpr and subPath are mutually exclusive"
                yield invalid(f"{at}.subPathExpr", mount["subPathExpr"], detail)
            yield from formats.descending_path(f"{path}.subPathExpr", mount["subPathExpr"])
        yield from _propagation(path, mount, container)


def _propagation(path: str, mount: Manifest, container: Manifest) -> Iterator[Problem]:
    mode = mount.get("mountPropagation")
    if mode is not None:
        at = f"{path}.mountPropagation"
        modes = ("Bidirectional", "HostToContainer", "None")
        if mode not in modes:
            yield unsupported(at, mode, modes)
        elif mode == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
            yield forbidden(at, "Bidirectional mount propagation is available only to privileged containers")
    recursive = mount.get("recursiveReadOnly")
    if recursive is not None:
        at = f"{path}.recursiveReadOnly"
        modes = ("Disabled", "Enabled", "IfPossible")
        if recursive not in modes:
            yield unsupported(at, recursive, modes)
        elif recursive != "Disabled":
            if not mount.get("readOnly"):
                yield forbidden(at, "may only be specified when readOnly is true")
            if mode not in (None, "None"):
                yield forbidden(at, "may only be specified when mountPropagation is None or not specified")


def _devices(path: str, container: Manifest, pod: PodView) -> Iterator[Problem]:
    mounts = container.get("volumeMounts", ())
    mount_names = {mount["name"] for mount in mounts}
    mount_paths = {mount["mountPath"] for mount in mounts}
    names: set[str] = set()
    places: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices", ())):
        at, name, place = f"{path}[{index}]", device["name"], device["devicePath"]
        if not name:
            yield required(f"{at}.name")
        if name in names:
            yield invalid(f"{at}.name", name, "must be unique")
        source = pod.volumes.get(name)
        if source is not None and not {"persistentVolumeClaim", "ephemeral"} & source.keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{at}.name", name, detail)
        if source is None:
            yield not_found(f"{at}.name", name)
        if not place:
            yield required(f"{at}.devicePath")
        if place in places:
            yield invalid(f"{at}.devicePath", place, "must be unique")
        if place and ".." in place.split("/"):
            yield invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')")
        else:
            places.add(place)
        if name in mount_names:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if place in mount_paths:
            yield invalid(f"{at}.devicePath", place, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _resize_policy(path: str, policies: Any, pod_restart_policy: str | None) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy["resourceName"], policy["restartPolicy"]
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
        yield from one_of(path, name, ("cpu", "memory"))
        yield from one_of(path, restart, ("NotRequired", "RestartContainer"))
        if pod_restart_policy == "Never" and restart != "NotRequired":
            yield invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'")
