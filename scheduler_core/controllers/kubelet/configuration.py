"""What a KubeletConfiguration says of eviction and of what is reserved, read strictly.

A node's configuration is its annotation `kschedweb.io/kubelet-config`, a KubeletConfiguration as YAML or JSON of which
any part may be left out; what it leaves out is as the key `kubelet` of the ConfigMap `kubelet-config` in `kube-system`
says, and else by default. Only the fields named here are read. Every problem is a ConfigError that names the field.

Source: kubernetes v1.34.1, pkg/kubelet/eviction/helpers.go, pkg/kubelet/apis/config (v1beta1/defaults.go, scheme).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.quantity import BINARY_SI, Quantity, parse
from scheduler_core.config.duration import Duration
from scheduler_core.config.source import parse_text
from scheduler_core.errors import ConfigError

ANNOTATION: Final = "kschedweb.io/kubelet-config"
CONFIG_MAP: Final = ("kube-system", "kubelet-config")
CONFIG_KEY: Final = "kubelet"
_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
_KIND: Final = "KubeletConfiguration"
_SCHEME: Final = 'scheme "pkg/kubelet/apis/config/scheme/scheme.go:33"'

MEMORY_AVAILABLE: Final = "memory.available"
ALLOCATABLE_MEMORY: Final = "allocatableMemory.available"
NODEFS_AVAILABLE: Final = "nodefs.available"
NODEFS_INODES: Final = "nodefs.inodesFree"
IMAGEFS_AVAILABLE: Final = "imagefs.available"
IMAGEFS_INODES: Final = "imagefs.inodesFree"
PID_AVAILABLE: Final = "pid.available"
# Known upstream too; there they are overwritten with those of one of the other file systems, here they are left out.
_CONTAINERFS: Final = ("containerfs.available", "containerfs.inodesFree")
SIGNALS: Final = (
    MEMORY_AVAILABLE, ALLOCATABLE_MEMORY, NODEFS_AVAILABLE, NODEFS_INODES, IMAGEFS_AVAILABLE, IMAGEFS_INODES,
    PID_AVAILABLE,
)  # fmt: skip

DEFAULT_HARD: Final = {
    MEMORY_AVAILABLE: "100Mi",
    NODEFS_AVAILABLE: "10%",
    NODEFS_INODES: "5%",
    IMAGEFS_AVAILABLE: "15%",
    IMAGEFS_INODES: "5%",
}
DEFAULT_TRANSITION_US: Final = 300_000_000
_RESERVED: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_MOST_TEXT: Final = 20_000

T = TypeVar("T")


class Amount(msgspec.Struct, frozen=True, gc=False):
    """A quantity, or a part of the capacity."""

    quantity: Quantity | None = None
    part: float = 0.0

    def of(self, capacity: int) -> Quantity:
        """Return the amount where so much is there in all."""
        if self.quantity is not None:
            return self.quantity
        return Quantity.of(int(float(capacity) * self.part), BINARY_SI)


class Threshold(msgspec.Struct, frozen=True, gc=False):
    """Eviction begins when less than `value` is left, for longer than the grace of a soft one; microseconds."""

    signal: str
    value: Amount
    grace_us: int = 0
    minimum_reclaim: Amount | None = None

    @property
    def is_hard(self) -> bool:
        return self.grace_us == 0

    def quantity(self, capacity: int, *, with_reclaim: bool = False) -> Quantity:
        """Return what must be left; with the minimum reclaim, what must be left for it to be over."""
        found = self.value.of(capacity)
        if with_reclaim and self.minimum_reclaim is not None:
            found = found + self.minimum_reclaim.of(capacity)
        return found


class KubeletConfig(msgspec.Struct, frozen=True):
    """The kubelet of one node."""

    thresholds: tuple[Threshold, ...]
    max_pod_grace_us: int = 0
    transition_us: int = DEFAULT_TRANSITION_US
    notices_memory: bool = False  # kernelMemcgNotification: memory is not waited for until the next look
    kube_reserved: ResourceList = {}
    system_reserved: ResourceList = {}
    says_reserved: bool = False  # what is allocatable follows from it

    def reserved(self, resource: str) -> int:
        """Return what is kept back of a resource for the system and Kubernetes, in whole units."""
        found = (listed.get(resource) for listed in (self.kube_reserved, self.system_reserved))
        return sum(quantity.value() for quantity in found if quantity is not None)


def read_config(own: str = "", common: str = "") -> KubeletConfig:
    """Return the configuration of a node; `own` is its annotation, `common` that of all nodes."""
    document = {**_document(common, CONFIG_KEY), **_document(own, ANNOTATION)}
    problems: list[str] = []

    def field(name: str, read: Callable[[Any, str], T], default: T) -> T:
        value = document.get(name)
        if value is None:
            return default
        try:
            return read(value, name)
        except ValueError as error:
            problems.append(str(error))
            return default

    no_texts: dict[str, str] = {}
    no_times: dict[str, int] = {}
    no_amounts: dict[str, Amount] = {}
    nothing: ResourceList = {}
    hard_texts = field("evictionHard", _texts, no_texts)
    soft_texts = field("evictionSoft", _texts, no_texts)
    graces = field("evictionSoftGracePeriod", _graces, no_times)
    reclaims = field("evictionMinimumReclaim", _reclaims, no_amounts)
    # One threshold that is given takes all defaults away.
    if document.get("evictionHard") is None or document.get("mergeDefaultEvictionSettings") is True:
        hard_texts = {**DEFAULT_HARD, **hard_texts}
    thresholds: list[Threshold] = []
    for name, texts in (("evictionHard", hard_texts), ("evictionSoft", soft_texts)):
        for signal, text in sorted(texts.items(), key=lambda item: _order(item[0])):
            try:
                value = _threshold(signal, text, f"{name}[{signal}]")
                grace_us = 0
                if name == "evictionSoft":
                    if signal not in graces:
                        raise ValueError(
                            f"evictionSoftGracePeriod[{signal}]: grace period must be specified for the"
                            f" soft eviction threshold {signal}"
                        )
                    grace_us = graces[signal]
            except ValueError as error:
                problems.append(str(error))
                continue
            if value is not None and signal not in _CONTAINERFS:
                thresholds.append(Threshold(signal, value, grace_us, reclaims.get(signal)))
    kube, system = field("kubeReserved", _reserved, nothing), field("systemReserved", _reserved, nothing)
    enforced = field("enforceNodeAllocatable", _names, ["pods"])
    if "pods" in enforced and ("memory" in kube or "memory" in system):
        thresholds += [
            Threshold(ALLOCATABLE_MEMORY, one.value, 0, one.minimum_reclaim)
            for one in thresholds
            if one.signal == MEMORY_AVAILABLE and one.is_hard
        ]
    config = KubeletConfig(
        tuple(thresholds),
        field("evictionMaxPodGracePeriod", _seconds, 0),
        field("evictionPressureTransitionPeriod", _duration, 0) or DEFAULT_TRANSITION_US,
        field("kernelMemcgNotification", _flag, False),
        kube,
        system,
        bool(kube or system or document.get("evictionHard")),
    )
    if problems:
        raise ConfigError(problems)
    return config


def _document(text: str, where: str) -> Mapping[str, Any]:
    if not text.strip():
        return {}
    if len(text) > _MOST_TEXT:
        raise ConfigError([f"{where}: longer than {_MOST_TEXT} characters"])
    document = parse_text(text)
    version, kind = document.get("apiVersion") or _VERSION, document.get("kind") or _KIND
    if kind != _KIND:
        raise ConfigError([f"{where}: kind: expected {_KIND}, got {kind}"])
    if version != _VERSION:
        text = f'no kind "{kind}" is registered for version "{version}" in {_SCHEME}'
        raise ConfigError([f"{where}: {text}; write {_VERSION}"])
    return document


def _order(signal: str) -> int:
    return SIGNALS.index(signal) if signal in SIGNALS else len(SIGNALS)


def _known(signal: str, where: str) -> None:
    if signal not in SIGNALS and signal not in _CONTAINERFS:
        raise ValueError(f"{where}: unsupported eviction signal {signal}")


def _threshold(signal: str, text: str, where: str) -> Amount | None:
    """None where the text switches the threshold off."""
    _known(signal, where)
    if text.endswith("%"):
        if text in ("0%", "100%"):
            return None
        part = _percentage(text, where)
        if part < 0:
            raise ValueError(f"{where}: eviction percentage threshold {signal} must be >= 0%: {text}")
        if part > 1:
            raise ValueError(f"{where}: eviction percentage threshold {signal} must be <= 100%: {text}")
        return Amount(None, part)
    quantity = _quantity(text, where)
    if quantity.nano <= 0:
        raise ValueError(f"{where}: eviction threshold {signal} must be positive: {quantity}")
    return Amount(quantity)


def _reclaims(value: Any, where: str) -> dict[str, Amount]:
    found = {}
    for signal, text in _texts(value, where).items():
        place = f"{where}[{signal}]"
        _known(signal, place)
        if text.endswith("%"):
            part = _percentage(text, place)
            if part <= 0:
                raise ValueError(f"{place}: eviction percentage minimum reclaim {signal} must be positive: {text}")
            found[signal] = Amount(None, part)
            continue
        quantity = _quantity(text, place)
        if quantity.nano < 0:
            raise ValueError(f"{place}: negative eviction minimum reclaim specified for {signal}")
        found[signal] = Amount(quantity)
    return found


def _graces(value: Any, where: str) -> dict[str, int]:
    found = {}
    for signal, text in _texts(value, where).items():
        place = f"{where}[{signal}]"
        _known(signal, place)
        found[signal] = _duration(text, place)
        if found[signal] < 0:
            raise ValueError(f"{place}: invalid eviction grace period specified: {text}, must be a positive value")
    return found


def _percentage(text: str, where: str) -> float:
    try:
        number = float(text.rstrip("%"))
    except ValueError:
        raise ValueError(f"{where}: {text!r} is no percentage") from None
    if number != number:
        raise ValueError(f"{where}: {text!r} is no percentage")
    return float(np.float32(number) / np.float32(100))  # in the width that it has upstream


def _quantity(text: str, where: str) -> Quantity:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _texts(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object")
    return dict(_pairs(value, where))


def _pairs(value: dict[Any, Any], where: str) -> Iterator[tuple[str, str]]:
    for name, text in value.items():
        if not isinstance(text, str | int | float) or isinstance(text, bool):
            raise ValueError(f"{where}[{name}]: expected text")
        yield str(name), str(text)


def _reserved(value: Any, where: str) -> ResourceList:
    found = {}
    for name, text in _texts(value, where).items():
        place = f"{where}[{name}]"
        if name not in _RESERVED and not name.startswith("hugepages-"):
            raise ValueError(f"{place}: cannot reserve {name!r} resource")
        found[name] = _quantity(text, place)
        if found[name].nano < 0:
            raise ValueError(f"{place}: resource quantity cannot be negative: {text}")
    return found


def _names(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{where}: expected a list of names")
    return value


def _seconds(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise ValueError(f"{where}: expected a number of seconds, 0 or more")
    return value * 1_000_000


def _duration(value: Any, where: str) -> int:
    try:
        return Duration.parse(str(value)).us
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where}: expected true or false")
    return value
