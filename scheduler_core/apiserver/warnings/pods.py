"""What the API server warns of in pods and in templates of pods.

Source: kubernetes v1.34.1, pkg/api/pod/warnings.go and pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.admission.app_armor import ANNOTATION_PREFIX, profile_of_annotation
from scheduler_core.api.quantity import parse
from scheduler_core.apiserver.store import Stored
from scheduler_core.apiserver.warnings.addresses import address_warnings
from scheduler_core.apiserver.warnings.node_labels import message_of_label, term_warnings

Part = dict[str, Any]
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_TEXT: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR_TEXT: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
# Sources of volumes that are gone, in the order in which those of pods are looked for.
REMOVED_VOLUMES: Final = {
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
_BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(path: str, metadata: Mapping[str, Any], spec: Stored) -> Iterator[str]:
    """Of a pod, or of a template whose place (`spec.template.`) is the path."""
    at, annotations = f"{path}spec", metadata.get("annotations") or {}
    yield from _placement(at, spec)
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _volume(f"{at}.volumes[{index}]", volume)
    for volume in spec.get("volumes") or ():
        yield from _overlaps(volume)
    yield from _lists(at, spec)
    for name in _BYTES:
        yield from _fraction(f"{at}.overhead[{name}]", (spec.get("overhead") or {}).get(name))
    if _SECCOMP_POD in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        yield f"{path}metadata.annotations[{_SECCOMP_POD}]: {_SECCOMP_TEXT}"
    for where, container in _containers(at, spec):
        yield from _container_annotations(path, annotations, spec, container)
        yield from _container(where, container)
    yield from _ports(at, spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        reason = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at}.terminationGracePeriodSeconds: {reason}"
    yield from _affinity(at, spec.get("affinity") or {})
    for index, address in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from address_warnings(f"{at}.dnsConfig.nameservers[{index}]", address)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address_warnings(f"{at}.hostAliases[{index}].ip", alias.get("ip", ""))


def app_armor_warnings(pod: Stored) -> Iterator[str]:
    """Of annotations that stand for a field of a new pod's containers, which the field repeats now."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    own = (spec.get("securityContext") or {}).get("appArmorProfile")
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for _, container in _containers("spec", spec):
        key = ANNOTATION_PREFIX + container["name"]
        if key in annotations:
            profile = profile_of_annotation(annotations[key])
            copied = (container.get("securityContext") or {}).get("appArmorProfile")
            if profile is None or (profile != own and profile == copied):
                yield f"metadata.annotations[{key}]: {_APP_ARMOR_TEXT}"


def _containers(at: str, spec: Stored) -> Iterator[tuple[str, Part]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{at}.{field}[{index}]", container


def _placement(at: str, spec: Stored) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        message = message_of_label(key)
        if message:
            yield f"{at}.nodeSelector[{key}]: {message}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required, preferred = (f"{one}DuringSchedulingIgnoredDuringExecution" for one in ("required", "preferred"))
    for index, term in enumerate((affinity.get(required) or {}).get("nodeSelectorTerms") or ()):
        yield from term_warnings(f"{at}.affinity.nodeAffinity.{required}.nodeSelectorTerms[{index}]", term)
    for index, weighted in enumerate(affinity.get(preferred) or ()):
        where = f"{at}.affinity.nodeAffinity.{preferred}[{index}].preference"
        yield from term_warnings(where, weighted["preference"], checks_values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        key, where = constraint["topologyKey"], f"{at}.topologySpreadConstraints[{index}]"
        message = message_of_label(key)
        if message:
            yield f"{where}.topologyKey: {key} is {message}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"


def _affinity(at: str, affinity: Part) -> Iterator[str]:
    for field in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(field) or {}
        for one, inner in (("required", ""), ("preferred", ".podAffinityTerm")):
            name = f"{one}DuringSchedulingIgnoredDuringExecution"
            for index, term in enumerate(terms.get(name) or ()):
                if (term["podAffinityTerm"] if inner else term).get("labelSelector") is None:
                    yield f"{at}.affinity.{field}.{name}[{index}]{inner}.labelSelector: {_NO_SELECTOR}"


def _volume(at: str, volume: Part) -> Iterator[str]:
    for source, text in REMOVED_VOLUMES.items():
        if source in volume:
            yield f"{at}.{text}"
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template:
        resources = template["spec"].get("resources") or {}
        for field in ("requests", "limits"):
            where = f"{at}.ephemeral.volumeClaimTemplate.spec.resources.{field}[storage]"
            yield from _fraction(where, (resources.get(field) or {}).get("storage"))


def _lists(at: str, spec: Stored) -> Iterator[str]:
    for field, member, word in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: set[str] = set()
        for index, one in enumerate(spec.get(field) or ()):
            value = one.get(member, "")
            if value in seen:
                yield f'{at}.{field}[{index}].{member}: duplicate {word} "{value}"'
            seen.add(value)
    for index, one in enumerate(spec.get("imagePullSecrets") or ()):
        if not one.get("name"):
            yield f'{at}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fraction(at: str, text: str | None) -> Iterator[str]:
    if text is not None and parse(text).milli_value() % 1000:
        yield f'{at}: fractional byte value "{parse(text)}" is invalid, must be an integer'


def _container_annotations(path: str, annotations: Part, spec: Stored, container: Part) -> Iterator[str]:
    security = container.get("securityContext") or {}
    key = _SECCOMP_CONTAINER + container["name"]
    if key in annotations and "seccompProfile" not in security:
        yield f"{path}metadata.annotations[{key}]: {_SECCOMP_TEXT}"
    key = ANNOTATION_PREFIX + container["name"]
    if path and key in annotations and "appArmorProfile" not in security:
        own = (spec.get("securityContext") or {}).get("appArmorProfile")
        if own is None or own != profile_of_annotation(annotations[key]):
            yield f"{path}metadata.annotations[{key}]: {_APP_ARMOR_TEXT}"


def _container(at: str, container: Part) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in _BYTES:
        for field in ("limits", "requests"):
            yield from _fraction(f"{at}.resources.{field}[{name}]", (resources.get(field) or {}).get(name))
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable["name"], variable.get("value", "")
        own = f"$({name})"
        if name in seen and (variable.get("valueFrom") is not None or value == own or own not in value):
            yield f'{at}.env[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _ports(at: str, spec: Stored) -> Iterator[str]:
    seen: dict[tuple[int, str], list[tuple[str, Part]]] = {}
    named: dict[str, str] = {}
    told_of_names = []
    for where, container in _containers(at, spec):
        for index, port in enumerate(container.get("ports") or ()):
            place, host = f"{where}.ports[{index}]", (port.get("hostIP", ""), port.get("hostPort", 0))
            if host[0] and not host[1]:
                yield f"{place}: hostIP set without hostPort: {_printed(port)}"
            others = seen.setdefault((port["containerPort"], port.get("protocol", "")), [])
            for other_place, other in others:
                other_host = other.get("hostIP", ""), other.get("hostPort", 0)
                if host == other_host:
                    yield f"{place}: duplicate port definition with {other_place}"
                elif not host[1] or not other_host[1]:
                    yield f"{place}: overlapping port definition with {other_place}"
                elif host[1] == other_host[1] and (not host[0]) != (not other_host[0]):
                    yield f"{place}: dangerously ambiguous port definition with {other_place}"
            others.append((place, port))
            name = port.get("name")
            if name and name in named:
                rest = f"services and probes that select ports by name will use {named[name]}"
                told_of_names.append(f'{place}: duplicate port name "{name}" with {named[name]}, {rest}')
            elif name:
                named[name] = place
    yield from told_of_names


def _printed(port: Part) -> str:
    """A port as the server's language prints it."""
    values = (
        ("Name", port.get("name", "")), ("HostPort", port.get("hostPort", 0)),
        ("ContainerPort", port["containerPort"]), ("Protocol", port.get("protocol", "")),
        ("HostIP", port.get("hostIP", "")),
    )  # fmt: skip
    return "{" + " ".join(f"{name}:{value}" for name, value in values) + "}"


# Files of volumes


def _overlaps(volume: Part) -> Iterator[str]:
    """Of keys that end up in one file of the volume, or in a file and a folder of one name."""
    for field, name_field, kind in (
        ("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret"), ("downwardAPI", "", "DownwardAPI"),
    ):  # fmt: skip
        source = volume.get(field) or {}
        told = f'{kind} "{source.get(name_field, "")}"' if name_field else kind
        yield from _collisions(volume, told, [(item["path"], "") for item in source.get("items") or ()], [])
    if "projected" in volume:
        seen: list[tuple[str, str]] = []
        for source in volume["projected"].get("sources") or ():
            if not source:
                yield f'volume "{volume["name"]}" (Projected) has no sources provided'
                continue
            yield from _collisions(volume, "Projected", list(_projected(source)), seen)


def _projected(source: Part) -> Iterator[tuple[str, str]]:
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if field in source:
            for item in source[field].get("items") or ():
                yield item["path"], f'{kind} "{source[field].get("name", "")}"'
    for item in (source.get("downwardAPI") or {}).get("items") or ():
        yield item["path"], "DownwardAPI"
    if "serviceAccountToken" in source:
        yield source["serviceAccountToken"]["path"], "ServiceAccountToken"
    if "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        yield bundle["path"], f'ClusterTrustBundle "{bundle.get("name", bundle.get("signerName", ""))}"'


def _collisions(volume: Part, source: str, paths: list[tuple[str, str]], seen: list[tuple[str, str]]) -> Iterator[str]:
    """Warnings of the paths that collide with one another or with those seen; they are added to those."""
    for path, owner in paths:
        one = path.rstrip("/"), owner
        for other in seen:
            ours, theirs = f"{one[0]}/", f"{other[0]}/"
            if one[0] and other[0] and (ours.startswith(theirs) or theirs.startswith(ours)):
                body = f"{_quoted(one)} with {_quoted(other)}"
                yield f'volume "{volume["name"]}" ({source}): overlapping paths: {body}'
        seen.append(one)


def _quoted(one: tuple[str, str]) -> str:
    return f'"{one[0]}" ({one[1]})' if one[1] else f'"{one[0]}"'
