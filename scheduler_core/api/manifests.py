"""Manifests (dicts with camelCase keys) to typed objects and back.

Reads what the API server reads: `null` counts as absent, an int where text is expected is an error. Every
problem is a `ManifestError` whose path looks like `spec.containers[0].resources.requests.cpu`. Unknown fields
are ignored; whoever stores an object keeps the whole manifest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from scheduler_core import typed
from scheduler_core.api.batch import CronJob, Job
from scheduler_core.api.custom import custom_class, is_custom, stored_kind
from scheduler_core.api.kept import KEPT
from scheduler_core.api.meta import KubeObject, Value
from scheduler_core.api.node import Node
from scheduler_core.api.older_claims import PodSchedulingContext, ResourceClass
from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import LimitRange, PodDisruptionBudget, PriorityClass, RuntimeClass
from scheduler_core.api.quantity import ZERO, Quantity, parse
from scheduler_core.api.records import Event, Lease, ResourceQuota
from scheduler_core.api.resource_claims import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from scheduler_core.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from scheduler_core.api.stored import (
    ConfigMap,
    ControllerRevision,
    Endpoints,
    EndpointSlice,
    Secret,
    ServiceAccount,
)
from scheduler_core.api.workload import (
    DaemonSet,
    Deployment,
    Namespace,
    PodTemplate,
    PodTemplateSpec,
    RawTemplate,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from scheduler_core.errors import ManifestError

Manifest = dict[str, Any]
DecodeHook = Callable[[type, Any], Any]

KINDS: dict[str, type[KubeObject]] = {
    cls.kind: cls
    for cls in (
        Namespace,
        Node,
        Pod,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
        CSINode,
        CSIDriver,
        CSIStorageCapacity,
        VolumeAttachment,
        PodDisruptionBudget,
        PriorityClass,
        RuntimeClass,
        LimitRange,
        ResourceQuota,
        Lease,
        Event,
        Service,
        ReplicationController,
        ReplicaSet,
        StatefulSet,
        Deployment,
        DaemonSet,
        Job,
        ConfigMap,
        Secret,
        ServiceAccount,
        Endpoints,
        EndpointSlice,
        CronJob,
        ControllerRevision,
        ResourceClaim,
        ResourceClaimTemplate,
        ResourceSlice,
        DeviceClass,
        PodTemplate,
        VolumeAttributesClass,
        ResourceClass,
        PodSchedulingContext,
    )
}

# All built-in kinds that can be stored. Whoever follows a log for scheduling passes over what is not in `KINDS`.
CLASSES: dict[str, type[KubeObject]] = KINDS | KEPT


class _AllKinds:
    """Those of `CLASSES`, and what clusters define for themselves."""

    def __contains__(self, kind: object) -> bool:
        return kind in CLASSES or (isinstance(kind, str) and is_custom(kind))


ALL_KINDS: Container[str] = _AllKinds()

# Maps whose `null` values are values, not absent fields: empty text and zero.
_TEXT_MAPS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "parameters"})
_QUANTITY_MAPS = frozenset(
    {
        "requests", "limits", "capacity", "allocatable", "overhead", "podFixed", "allocatedResources",
        "min", "max", "default", "defaultRequest", "maxLimitRequestRatio",
    }
)  # fmt: skip

_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]*)`")
_PLAIN_STEP = re.compile(r"[A-Za-z0-9_-]+")
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")

T = TypeVar("T")


class _TemplateError(ValueError):
    """What is wrong in a template. A ValueError: msgspec adds to it where the template stands."""

    def __init__(self, problem: ManifestError) -> None:
        super().__init__(problem.detail)
        self._problem = problem

    def problem_at(self, path: str) -> ManifestError:
        """The same, named from the object on that has the template at `path`."""
        below = self._problem.path
        return ManifestError(f"{path}.{below}" if below else path, self._problem.detail)


def decode(manifest: Mapping[str, Any], *, kind: str | None = None) -> KubeObject:
    """The typed object of a manifest. `kind` is for items of a typed list, which carry neither kind nor apiVersion, and
    for objects of kinds that a cluster defines, which are read when they are asked for.
    """
    return convert(manifest, kind_of(manifest, kind=kind))


def kind_of(manifest: Mapping[str, Any], *, kind: str | None = None) -> type[KubeObject]:
    """The class a manifest belongs to; ManifestError when it is none of `CLASSES` or of another apiVersion."""
    if not isinstance(manifest, dict):
        raise ManifestError("", f"expected an object, got {_kind_of_value(manifest)}")
    found = manifest.get("kind")
    if kind is not None and is_custom(kind) and isinstance(found, str) and stored_kind(manifest) == kind:
        return custom_class(kind)
    if found is None:
        found = kind
    if not isinstance(found, str) or not found:
        raise ManifestError("kind", "is required" if not found else f"expected text, got {_kind_of_value(found)}")
    if kind is not None and found != kind:
        raise ManifestError("kind", f"expected {kind}, got {found}")
    cls = CLASSES.get(found)
    if cls is None:
        raise ManifestError("kind", f"{found} is not understood; expected one of {', '.join(sorted(CLASSES))}")
    version = manifest.get("apiVersion")
    if version is None and manifest.get("kind") is None:
        return cls
    if version != cls.api_version:
        got = repr(version) if version is not None else "nothing"
        raise ManifestError("apiVersion", f"expected {cls.api_version} for kind {found}, got {got}")
    return cls


def convert(value: Any, cls: type[T], *, path: str = "", dec_hook: DecodeHook | None = None) -> T:
    """Any part of a manifest as its type; `path` is where the part stands, `dec_hook` reads types of one's own."""
    hook = dec_hook or _decode_custom
    try:
        return typed.convert(value, cls, dec_hook=hook)
    except msgspec.ValidationError:
        # Rare enough to pay twice: `null` is accepted wherever a field is, which types cannot say shortly.
        value = without_nulls(value)
    try:
        return typed.convert(value, cls, dec_hook=hook)
    except msgspec.ValidationError as error:
        found = explain(str(error), value, cls, path, hook)
        if isinstance(inside := error.__cause__, _TemplateError):
            found = inside.problem_at(found.path)
        raise found from None


def encode(obj: KubeObject) -> Manifest:
    """The manifest of what is typed: defaults left out, quantities canonical, times in UTC."""
    return {"apiVersion": obj.api_version, "kind": obj.kind, **encode_part(obj)}


def encode_part(value: Value) -> Manifest:
    """The same of a part of an object, such as its status."""
    built: Manifest = _plain(msgspec.to_builtins(value, enc_hook=_encode_custom, builtin_types=(datetime,)))
    return built


def format_time(time: datetime) -> str:
    """RFC 3339 in UTC, as the API server prints times: `2030-01-01T00:00:00Z`."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return text + "Z"


def _decode_custom(cls: type, value: Any) -> Any:
    if cls is Quantity:
        if value is None:
            return ZERO
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return parse(value)
        if isinstance(value, Quantity):
            return value
        raise ValueError(f"expected a quantity, got {_kind_of_value(value)}")
    if cls is RawTemplate:
        try:
            convert(value, PodTemplateSpec)
        except ManifestError as error:
            raise _TemplateError(error) from None
        return RawTemplate(value)
    raise NotImplementedError(f"no reading of {cls} is known")


def _encode_custom(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, RawTemplate):
        return value.manifest
    raise NotImplementedError(f"no writing of {type(value)} is known")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return format_time(value) if isinstance(value, datetime) else value


def without_nulls(value: Any, key: str = "") -> Any:
    """The value without its `null` fields; inside known maps a `null` is the empty value instead."""
    if isinstance(value, dict):
        if key in _TEXT_MAPS:
            return {name: "" if item is None else item for name, item in value.items()}
        if key in _QUANTITY_MAPS:
            return {name: "0" if item is None else item for name, item in value.items()}
        return {
            name: without_nulls(item, name if isinstance(name, str) else "")
            for name, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def explain(text: str, value: Any, cls: Any, prefix: str, hook: DecodeHook | None = None) -> ManifestError:
    """What msgspec said of a value, in our words, with a path that begins with `prefix` and names map keys too."""
    hook = hook or _decode_custom
    # The last one: what comes before may quote the manifest.
    detail, found, where = text.rpartition(" - at `")
    if not found:
        detail, where = text, ""
    steps: list[str | int] = []
    place = value
    for step in _STEP.finditer(where.removesuffix("`")):
        at: str | int
        if step["any"] is not None:
            at = _culprit(value, steps, place, cls, text, hook)
        else:
            at = step["field"] if step["field"] is not None else int(step["index"])
        steps.append(at)
        place = place[at]
    missing = _MISSING.fullmatch(detail)
    if missing is not None:
        steps.append(missing["field"])
        detail = "is required"
    elif (unknown := _UNKNOWN.fullmatch(detail)) is not None:
        steps.append(unknown["field"])
        detail = "is not known here"
    elif where.startswith("key` in `"):
        detail = f"keys: {_plain_words(detail)}"
    else:
        detail = _plain_words(detail)
        if not isinstance(place, (dict, list)):
            detail += f" ({place!r})"
    return ManifestError(_path_text(prefix, steps), detail)


def _culprit(value: Any, steps: list[str | int], place: dict[Any, Any], cls: Any, text: str, hook: DecodeHook) -> Any:
    """Which key of the map at `steps` is refused: the one with which alone the message stays the same."""
    for key, item in place.items():
        try:
            typed.convert(_replaced(value, steps, {key: item}), cls, dec_hook=hook)
        except msgspec.ValidationError as error:
            if str(error) == text:
                return key
    return next(iter(place))


def _replaced(value: Any, steps: list[str | int], new: Any) -> Any:
    if not steps:
        return new
    if isinstance(value, dict):
        return {**value, steps[0]: _replaced(value[steps[0]], steps[1:], new)}
    index = int(steps[0])
    return [*value[:index], _replaced(value[index], steps[1:], new), *value[index + 1 :]]


def _path_text(prefix: str, steps: list[str | int]) -> str:
    path = prefix
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_STEP.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"[{step}]"
    return path


_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"Expected `([^`]*)`, got `([^`]*)`"),
        lambda m: f"expected {_type_words(m[1])}, got {_type_words(m[2])}",
    ),
    (re.compile(r"Expected `(?:int|float)` >= (-?[\d.]+)"), lambda m: f"must be at least {m[1]}"),
    (re.compile(r"Expected `(?:int|float)` <= (-?[\d.]+)"), lambda m: f"must be at most {m[1]}"),
    (
        re.compile(r"Expected `str` of length >= (\d+)"),
        lambda m: "must not be empty" if m[1] == "1" else f"must have at least {m[1]} characters",
    ),
    (re.compile(r"Expected `str` of length <= (\d+)"), lambda m: f"must have at most {m[1]} characters"),
    (re.compile(r"(?s:Expected `str` matching regex .*)"), lambda m: "has a character or a form that is not allowed"),
    (re.compile(r"Expected `datetime` with a timezone component"), lambda m: "expected a time with a time zone"),
    (re.compile(r"Invalid RFC3339 encoded datetime"), lambda m: "expected a time such as 2030-01-01T00:00:00Z"),
)


def _plain_words(detail: str) -> str:
    for pattern, words in _WORDS:
        match = pattern.fullmatch(detail)
        if match is not None:
            return words(match)
    return detail[:1].lower() + detail[1:]


def _type_words(names: str) -> str:
    words = {
        "str": "text", "int": "an integer", "float": "a number", "bool": "true or false", "array": "a list",
        "object": "an object", "null": "null", "datetime": "a time", "dict": "an object", "list": "a list",
    }  # fmt: skip
    parts = [name.strip() for name in names.split("|")]
    # `null` is taken for absent everywhere: no use in naming it as expected.
    return " or ".join(words.get(name, name) for name in parts if name != "null" or len(parts) == 1)


def _kind_of_value(value: Any) -> str:
    if value is None:
        return "null"
    return _type_words(type(value).__name__)
