"""Names of a cluster, each replaced by one that says nothing: the same everywhere, and in the same order.

A first pass over all texts collects them, then `settle` gives each its replacement. Words of the Kubernetes API, keys
of its domains, numbers, quantities and times stay. Everything else is a name, whatever field it stands in: so nothing
is left because nobody thought of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from scheduler_core.api.csi_migration import CSI_DRIVERS, TOPOLOGY_KEYS
from scheduler_core.api.kept import KEPT
from scheduler_core.api.schema import SCALARS, Type, type_named, type_of
from scheduler_core.api.schema.types import kept_types, type_names

_STAYS = re.compile(
    r"[+-]?\d+(\.\d*)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+|%)?"  # numbers, quantities, shares
    r"|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+"  # durations
    r"|v?\d+\.\d+(\.\d+)?|v\d+((alpha|beta)\d+)?"  # versions
    r"|\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"  # times
    r"|([a-z0-9-]+\.)*(kubernetes|k8s|kschedweb)\.io(/[A-Za-z0-9._-]*)?"  # keys of well-known domains
    r"|hugepages-\d+[KMGT]i|",
    re.ASCII,
)
_BETWEEN = re.compile(r"([/:@,;\x00])")  # parts are names of their own: namespace/name, domain/key, registry/image:tag
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_IN_CEL = re.compile(
    r'"(?P<double>(?:[^"\\]++|\\.)*+)"?|'
    r"'(?P<single>(?:[^'\\]++|\\.)*+)'?|(?P<key>(?<=\])\s*\.\s*)(?P<word>\w+)|//[^\n]*"
)
_MOST_PARTED = 300  # characters: what is longer is prose, or a document
_PROSE = re.compile(r"[\s{}\"]")
_SHARED = frozenset({"CSINode", "Lease"})  # kinds whose objects are named after nodes
_CEL_FIELDS = frozenset({"expression"})
_WHOLE_FIELDS = frozenset({"annotations", "message", "note"})

# Fields of what a checkpoint of the engine says; what else has such a name is a name of the cluster.
_STATE = """
version objects store cache snapshot queue waiting_pods bindings restored_bindings write_limit next_start_node_index now
plugins generation tree zones num_nodes image_states items name info images pod_states assumed_pods node pods
with_affinity with_required_anti_affinity used_ports requested non_zero allocatable pvc_ref_counts since dropped entries
order active backoff error_backoff unschedulable in_flight scheduling_cycle nominator counters incoming gated by_plugin
move_request_cycle closed sequence last_backoff_tick last_leftover_tick pod timestamp attempts initial_attempt_timestamp
backoff_expiration unschedulable_count consecutive_errors_count unschedulable_plugins pending_plugins gating_plugin
gating_plugin_events queued profile skip_pre_bind_plugins pods_to_activate node_name stage next_pre_bind bind_plugin
awaited_plugin deadline preempting under_way preemptor_uid preemptor_key message awaited last failed anybody_went
namespace pod_name pod_uid claims uid resource_version times allocation static provision written_on pod_key
"""
STATE_FIELDS = frozenset(_STATE.split())


# Of kinds that are only kept, beside their names and the values of enums.
_KEPT_WORDS = frozenset(
    {"autoscaling", "User", "Group", "Resource", "Utilization", "Percent", "Max", "Limited", "Queue"}
)


@cache
def words() -> frozenset[str]:
    """What stays although it looks like a name."""
    lines = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").splitlines()
    known = {word for line in lines if not line.startswith("# ") for word in line.split()}
    enums = (field.enum for each in kept_types().values() for field in each.fields.values())
    return frozenset(known.union(CSI_DRIVERS.values(), TOPOLOGY_KEYS.values(), KEPT, _KEPT_WORDS, *enums))


@cache
def _fields() -> frozenset[str]:
    """The names of all fields of all kinds."""
    return frozenset(name for each in type_names() for name in type_named(each).fields) | {"apiVersion", "kind"}


class Names:
    """Collects names until `settle`, and replaces them from then on."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._roles: dict[str, set[str]] = {"node": set(), "pod": set(), "namespace": set(), "": set()}
        self._kept: set[str] = set()  # words of this history that stay: plugins
        self._claims: set[tuple[str, str]] = set()  # (pod, volume) whose claim is named after both
        self._tokens: dict[str, str] | None = None
        self._originals: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    # -- what is collected -------------------------------------------------------------------------------------------

    def keep(self, words: Iterable[str]) -> None:
        self._kept.update(words)

    def object(self, kind: str, namespace: str, name: str) -> None:
        """An object of that kind is called so."""
        if self._tokens is None and kind not in _SHARED:
            self._roles[kind.lower() if kind in ("Node", "Pod", "Namespace") else ""].add(name)
            if namespace:
                self._roles["namespace"].add(namespace)

    def settle(self) -> None:
        """Give every name its replacement.

        What the engine orders by name keeps its order: replacements are numbered, and of the same length. Keys of pods
        are `namespace/name`, so that namespaces are ordered with the stroke behind them.
        """
        namespaces = self._roles["namespace"]
        ordered = sorted(self._seen, key=lambda name: f"{name}/" if name in namespaces else name)
        by_prefix: dict[str, list[str]] = {}
        pure = {role: names for role, names in self._roles.items() if role and self._is_pure(role)}
        for name in ordered:
            by_prefix.setdefault(self._prefix(name, pure), []).append(name)
        self._tokens = {}
        for prefix, names in by_prefix.items():
            width = max(4, len(str(len(names))))
            for number, name in enumerate(names, 1):
                self._tokens[name] = (
                    f"{number:08x}-0000-4000-8000-000000000000" if prefix == "uid" else f"{prefix}{number:0{width}}"
                )
        for pod, volume in self._claims:
            self._tokens[f"{pod}-{volume}"] = f"{self._part(pod)}-{self._part(volume)}"
        self._originals = {token: name for name, token in self._tokens.items()}

    def _is_pure(self, role: str) -> bool:
        """Whether nothing of another role has a name of this one's: else these would be ordered in two ways."""
        return all(self._roles[role].isdisjoint(names) for other, names in self._roles.items() if other != role)

    @staticmethod
    def _prefix(name: str, pure: Mapping[str, set[str]]) -> str:
        if _UUID.fullmatch(name):
            return "uid"
        if _is_prose(name):
            return "text"
        return next((role for role, names in pure.items() if name in names), "name")

    # -- what is replaced --------------------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """A name, or several with what stands between them."""
        made = self._texts.get(text)
        if made is None:
            if self._stays(text):
                made = text
            elif _is_prose(text):
                made = self._leaf(text)
            else:
                parts = _BETWEEN.split(text)
                made = "".join(
                    part if self._stays(part) or _BETWEEN.fullmatch(part) else self._leaf(part) for part in parts
                )
            if self._tokens is not None:
                self._texts[text] = made
        return made

    def whole(self, text: str) -> str:
        """Prose, or a document: one name, however it looks."""
        return text if self._stays(text) else self._leaf(text)

    def back(self, text: str) -> str:
        """What was replaced by this."""
        return "".join(self._originals.get(part, part) for part in _BETWEEN.split(text))

    def _stays(self, text: str) -> bool:
        return _STAYS.fullmatch(text) is not None or text in words() or text in self._kept

    def _part(self, part: str) -> str:
        return part if _BETWEEN.fullmatch(part) or self._stays(part) else self._leaf(part)

    def _leaf(self, name: str) -> str:
        if self._tokens is None:
            self._seen.add(name)
            return name
        return self._tokens[name]

    def _cel(self, text: str) -> str:
        """Texts and keys of attributes in an expression; without its comments."""

        def made(found: re.Match[str]) -> str:
            if found["word"] is not None:
                return f"{found['key']}{self.text(found['word'])}"
            for name, quote in (("double", '"'), ("single", "'")):
                if found[name] is not None:
                    return f"{quote}{self.text(found[name])}{quote}"
            return ""

        return _IN_CEL.sub(made, text)

    # -- manifests and other values ----------------------------------------------------------------------------------

    def manifest(self, manifest: Any) -> Any:
        """A manifest with other names; of one of an unknown kind nothing but names is left."""
        if not isinstance(manifest, dict):
            return self.value(manifest)
        kind, metadata = manifest.get("kind"), manifest.get("metadata")
        if isinstance(metadata, dict) and isinstance(kind, str):
            self.object(kind, metadata.get("namespace") or "", metadata.get("name") or "")
            if kind == "Pod" and self._tokens is None:
                volumes = (manifest.get("spec") or {}).get("volumes") or ()
                self._claims |= {(metadata["name"], each["name"]) for each in volumes if each.get("ephemeral")}
        try:
            found = type_of(manifest.get("apiVersion", ""), kind or "")
        except KeyError:
            return self.value(manifest, fields=_fields())
        return self._struct(manifest, found)

    def _struct(self, value: Mapping[str, Any], type_: Type) -> dict[str, Any]:
        made = {}
        for key, each in value.items():
            field = type_.fields.get(key)
            if type_.name == "core.EnvVar" and key == "value" and isinstance(each, str) and each:
                made[key] = self._leaf(each)  # may be a password, whatever it looks like
            elif field is not None:
                made[key] = self._shaped(each, field.shape, key)
            elif key in ("apiVersion", "kind"):
                made[key] = self.value(each)
            else:
                made[self.text(key)] = self.value(each)
        return made

    def _shaped(self, value: Any, shape: str, field: str) -> Any:
        if isinstance(value, dict) and shape.startswith("{}"):
            return {self.text(key): self._shaped(each, shape[2:], field) for key, each in value.items()}
        if isinstance(value, list) and shape.startswith("[]"):
            return [self._shaped(each, shape[2:], field) for each in value]
        if isinstance(value, str):
            return self._said(value, field)
        if isinstance(value, dict) and shape not in SCALARS and not shape.startswith(("{}", "[]")):
            return self._struct(value, type_named(shape))
        return self.value(value)

    def _said(self, text: str, field: str) -> str:
        if field in _CEL_FIELDS:
            return self._cel(text)
        return self.whole(text) if field in _WHOLE_FIELDS else self.text(text)

    def value(self, value: Any, *, fields: frozenset[str] = frozenset(), field: str = "") -> Any:
        """Any plain value; of its dicts the keys that are `fields` stay."""
        if isinstance(value, str):
            return self._said(value, field)
        if isinstance(value, dict):
            return {
                key if key in fields or not isinstance(key, str) else self.text(key): self.value(
                    each, fields=fields, field=key if isinstance(key, str) else ""
                )
                for key, each in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(each, fields=fields, field=field) for each in value]
        return value

    def said(self, value: Any) -> Any:
        """A document of ours, all of whose keys are its own."""
        if isinstance(value, dict):
            return {key: self.said(each) for key, each in value.items()}
        return [self.said(each) for each in value] if isinstance(value, list) else self.value(value)

    def state(self, state: dict[str, Any]) -> dict[str, Any]:
        """A checkpoint of the engine, unpacked."""
        made = {}
        for key, each in state.items():
            if key == "objects":
                made[key] = [self.manifest(manifest) for manifest in each]
            elif key == "queue":
                nominated = each.get("nominator", {})
                told = {name: found for name, found in each.items() if name != "nominator"}
                made[key] = self.value(told, fields=STATE_FIELDS) | {"nominator": self.value(nominated)}
            else:
                made[key] = self.value(each, fields=STATE_FIELDS | _fields(), field=key)
        return made


def _is_prose(text: str) -> bool:
    return len(text) > _MOST_PARTED or _PROSE.search(text) is not None
