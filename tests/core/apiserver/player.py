"""Plays recorded conversations with kube-apiserver against the rules, on a store in memory.

There is no HTTP here: a step becomes a request, what only the wire knows (media types, headers, dry runs, lists) is
passed over. Compared are the code, the Status, and of objects everything but defaults which are not filled in yet.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import (
    Bind,
    Create,
    Delete,
    Evict,
    ObjectKey,
    Patch,
    PatchType,
    Propagation,
    Request,
    Update,
)
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import NOW

Json = dict[str, Any]

PATH = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[a-z]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?"
)
_KINDS = {kind.cls.plural: kind for kind in KINDS.values()}
_REPEATED = re.compile(r"#\{(\d+)\*([^}]*)\}")
_PLACEHOLDER = re.compile(r"<(uid|gen|ip|rv):(\d+)>|<(time)([+]\d+)?>")
# Fields of containers, pods and conditions that are not defaulted yet, and empty ones the real server writes.
_NOT_FILLED_IN = frozenset(
    {
        "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "securityContext", "lastProbeTime",
        "managedFields", "observedGeneration",
    }
)  # fmt: skip


class NotPlayableError(Exception):
    """The step needs more than rules for the kinds there are."""


def scenarios(folder: Path, family: str) -> Iterator[Json]:
    with gzip.open(folder / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


class Player:
    """One scenario on an empty cluster."""

    def __init__(self) -> None:
        numbers = itertools.count(0x51ED270B)
        self.server = ApiServer(
            MemoryStore(), lambda: str(uuid.UUID(int=next(numbers) * 0x9E3779B97F4A7C15 % (1 << 128)))
        )
        self._variables = {"r": "zabcdef"}
        self._bound: dict[str, str] = {}

    def play(self, scenario: Json) -> list[str]:
        """What differs, step by step; NotPlayableError when a step is no request for the rules."""
        for step in scenario.get("setup", ()):
            status, body = self._send(step)
            if status >= 400:
                return [f"setup {step['method']} {step['path']}: {body.get('message')}"]
        problems = []
        for number, step in enumerate(scenario["steps"]):
            status, body = self._send(step)
            for name, pointer in step.get("save", {}).items():
                self._variables[name] = str(_at(body, pointer))
            want = step.get("expect")
            if want is None:
                continue
            found = [] if status == want["status"] else [f"code {status}, not {want['status']}: {body.get('message')}"]
            if not found and "body" in want:
                found = list(self._differences(_comparable(want["body"]), _comparable(body), ""))
            problems += [f"step {number} {step['method']} {step['path']} {each}" for each in found]
        return problems

    def _send(self, step: Json) -> tuple[int, Json]:
        step = json.loads(self._filled(json.dumps(step)))
        match = PATH.fullmatch(step["path"])
        kind = _KINDS.get(match["plural"]) if match else None
        if match is None or kind is None or "raw" in step or "watch" in step or "sleep" in step:
            raise NotPlayableError(f"{step.get('method')} {step['path']}")
        if step.get("query") or step.get("user", "admin") != "admin":
            raise NotPlayableError(f"query {step.get('query')}")
        key = ObjectKey(kind.name, (match["namespace"] or "") if kind.namespaced else "", match["name"] or "")
        if kind.name == "Namespace" and match["plural"] == "namespaces" and match["namespace"]:
            key = ObjectKey("Namespace", "", match["namespace"])
        if step["method"] == "GET":
            if not key.name:
                raise NotPlayableError("list")
            stored = self.server.store.get(key)
            return (200, stored) if stored is not None else (404, answers.not_found(key).status.manifest())
        request = _request(step, key, match["subresource"] or "")
        (answer,) = self.server.carry_out([request], NOW)
        if isinstance(answer, Refused):
            return answer.status.code, answer.status.manifest()
        assert isinstance(answer, Outcome)
        if isinstance(answer.answer, Status):
            return answer.answer.code, answer.answer.manifest()
        return 201 if step["method"] == "POST" else 200, answer.answer

    def _filled(self, text: str) -> str:
        text = text.replace("{r}", self._variables["r"])
        text = re.sub(r"\$\{(\w+)\}", lambda found: self._variables.get(found[1], found[0]), text)
        return _REPEATED.sub(lambda found: found[2] * int(found[1]), text)

    def _differences(self, want: Any, got: Any, path: str) -> Iterator[str]:
        if isinstance(want, Mapping) and isinstance(got, Mapping):
            for key in [*want, *(key for key in got if key not in want)]:
                if key not in want or key not in got:
                    yield f"{path}/{key}: want {want.get(key)!r}, got {got.get(key)!r}"
                else:
                    yield from self._differences(want[key], got[key], f"{path}/{key}")
        elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
            for number, (one, other) in enumerate(zip(want, got, strict=True)):
                yield from self._differences(one, other, f"{path}/{number}")
        elif isinstance(want, str) and isinstance(got, str):
            if not self._matches(want, got):
                yield f"{path}: want {self._filled(want)!r}, got {got!r}"
        elif want != got:
            yield f"{path}: want {want!r}, got {got!r}"

    def _matches(self, want: str, got: str) -> bool:
        want = self._filled(want)
        pattern, names = "", []
        end = 0
        for found in _PLACEHOLDER.finditer(want):
            pattern += re.escape(want[end : found.start()]) + "(.+)"
            names.append(found)
            end = found.end()
        match = re.fullmatch(pattern + re.escape(want[end:]), got, re.DOTALL)
        if match is None:
            return False
        return all(self._placeholder_holds(found, value) for found, value in zip(names, match.groups(), strict=True))

    def _placeholder_holds(self, found: re.Match[str], value: str) -> bool:
        if found[3]:
            off = datetime.fromisoformat(value).timestamp() - NOW / 1_000_000 - int(found[4] or 0)
            return abs(off) <= 6
        before = self._bound.setdefault(found[0], value)
        if found[1] == "rv":
            smaller = [int(v) for name, v in self._bound.items() if (n := _number(name)) and n < int(found[2])]
            return value == before and value.isdigit() and all(int(value) > one for one in smaller)
        return value == before


def _number(placeholder: str) -> int:
    match = re.fullmatch(r"<rv:(\d+)>", placeholder)
    return int(match[1]) if match else 0


def _request(step: Json, key: ObjectKey, subresource: str) -> Request:
    body, media_type = step.get("body"), (step.get("headers") or {}).get("Content-Type", "")
    match step["method"], subresource:
        case "POST", "":
            if not isinstance(body, dict) or key.name:
                raise NotPlayableError("body")
            metadata = dict(body.get("metadata") or {})
            if metadata.get("namespace", key.namespace) != key.namespace:
                raise NotPlayableError("namespace of body and path")
            if key.namespace:
                metadata["namespace"] = key.namespace
            return Create(
                {"kind": key.kind, "apiVersion": KINDS[key.kind].cls.api_version, **body, "metadata": metadata}
            )
        case "POST", "binding":
            metadata, target = body.get("metadata") or {}, body.get("target") or {}
            if metadata.get("name") != key.name or metadata.get("resourceVersion") or not target.get("name"):
                raise NotPlayableError("checked before the rule")
            return Bind(key, target["name"], metadata.get("uid", ""))
        case "POST", "eviction":
            if (body.get("metadata") or {}).get("name") != key.name or body.get("deleteOptions"):
                raise NotPlayableError("checked before the rule")
            return Evict(key, "EvictionByEvictionAPI", "Eviction API: evicting")
        case "PUT", "" | "status":
            return Update(key, body, subresource)
        case "PATCH", "" | "status" if media_type in set(PatchType):
            return Patch(key, body, PatchType(media_type), subresource)
        case "DELETE", "" if key.name:
            options = body or {}
            preconditions = options.get("preconditions") or {}
            policy = options.get("propagationPolicy")
            if policy is not None and policy not in set(Propagation):
                raise NotPlayableError("checked before the rule")
            return Delete(
                key,
                options.get("gracePeriodSeconds"),
                None if policy is None else Propagation(policy),
                preconditions.get("uid", ""),
                preconditions.get("resourceVersion", ""),
            )
    raise NotPlayableError(f"{step['method']} {subresource} {media_type}")


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _comparable(item)
            for key, item in value.items()
            if key not in _NOT_FILLED_IN and item is not None and not (key == "resources" and item == {})
        }
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        value = value[int(step)] if isinstance(value, list) else value.get(step, "")
    return value
