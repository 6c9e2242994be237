"""What a history's steps were given, under other names: objects, configurations, checkpoints, answers of extenders.

One way through all values both collects names and replaces them, so that none is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import orjson
import yaml
import zstandard

from kschedweb.cluster.choices import Operation
from kschedweb.common import packing
from kschedweb.scheduling.exchanges import exchange_of
from kschedweb.scheduling.past import files
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.files import Head
from kschedweb.scheduling.past.names import Names
from kschedweb.scheduling.past.objects import Objects, unpacked
from kschedweb.traces import adapters as trace_adapters
from kschedweb.traces.choices import LogKind
from scheduler_core.errors import TraceError
from scheduler_core.model.effects import ExtenderExchange
from scheduler_core.trace import codec, digest

CLUSTER = "anonymised"
LEVEL = 6
Rows = dict[str, list[list[Any]]]

# Columns that hold names, or documents of them, of parts that are taken as they are.
_NAMED: Mapping[str, tuple[str, ...]] = {
    "log": ("pod_uid", "pod_key"),
    "attempts": ("pod_uid", "namespace", "name", "profile", "node_name", "nominated_node_name"),
    "bindings": ("pod_uid", "namespace", "name", "node_name"),
    "evictions": ("pod_uid", "namespace", "name", "node_name", "preemptor_uid"),
    "events": ("namespace", "name", "regarding_namespace", "regarding_name", "regarding_uid", "reporter"),
    "queue": ("pod_uid", "pod_key", "node_name"),
}
_PROSE = {"bindings": "message", "evictions": "message", "events": "note"}


def rename(rows: Rows, head: Head, names: Names, exchanges: Iterable[ExtenderExchange]) -> Head:
    """Collect all names, or replace them: both by the same way through the same values."""
    for part, columns in _NAMED.items():
        places = [files.part_named(part).place(column) for column in columns]
        for row in rows[part]:
            for place in places:
                if row[place]:
                    row[place] = names.text(row[place])
    for part, column in _PROSE.items():
        place = files.part_named(part).place(column)
        for row in rows[part]:
            row[place] = names.whole(row[place])
    seq, reason, action = (files.EVENTS.place(name) for name in ("seq", "reason", "action"))
    for row in rows[files.EVENTS.name]:
        if not row[seq]:  # of others than the scheduler
            row[reason], row[action] = names.text(row[reason]), names.text(row[action])
    for row in rows[files.CONFIGURATIONS.name]:
        _configuration(row, names)
    for row in rows[files.CHECKPOINTS.name]:
        _checkpoint(row, names)
    for row in rows[files.CHANGES.name]:
        _change(row, names)
    began = files.STEPS.place("began_from")
    for row in rows[files.STEPS.name]:
        if row[began] is not None:
            row[began] = _beginning(row[began], names)
    for exchange in exchanges:
        answer_of(exchange, names)
    return msgspec.structs.replace(head, cluster=CLUSTER, seed=0, settings=_settings(head.settings, names))


def _settings(settings: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return {
        **settings,
        "name": CLUSTER,
        "description": "",
        "seed": 0,
        "scheduler_problem": names.whole(settings.get("scheduler_problem", "")),
        "profiles": [names.text(each) for each in settings.get("profiles", ())],
    }


def _configuration(row: list[Any], names: Names) -> None:
    part = files.CONFIGURATIONS
    text, actor = part.place("text"), part.place("actor")
    row[actor] = names.text(row[actor])
    if row[text].strip():
        document = yaml.safe_load(row[text])
        names.keep(_plugins(document))
        row[text] = yaml.safe_dump(names.said(document), sort_keys=False)


def _plugins(document: Any) -> Iterator[str]:
    """The names of plugins: an engine is built of them, wherever they come from."""
    for profile in document.get("profiles") or ():
        for each in profile.get("pluginConfig") or ():
            yield str(each.get("name"))
        for point in (profile.get("plugins") or {}).values():
            for of in ("enabled", "disabled"):
                yield from (str(each.get("name")) for each in (point or {}).get(of) or ())


def _checkpoint(row: list[Any], names: Names) -> None:
    part = files.CHECKPOINTS
    engine, objects = part.place("engine"), part.place("objects_packed")
    if row[engine]:
        state = zstandard.ZstdDecompressor().decompress(row[engine], max_output_size=files.MOST_CHECKPOINT_BYTES)
        renamed = names.state(msgspec.msgpack.decode(state))
        row[engine] = packing.checked_compressor(LEVEL).compress(msgspec.msgpack.encode(renamed))
    text = zstandard.ZstdDecompressor().decompressobj().decompress(row[objects])
    found = unpacked(0, row[part.place("objects_rv")], text)
    made = Objects(0, found.rv)
    for (kind, namespace, name), (rv, manifest) in found.texts.items():
        key = kind, names.text(namespace), names.text(name)
        made.texts[key] = rv, orjson.dumps(names.manifest(orjson.loads(manifest)))
    row[objects] = made.packed(LEVEL)
    row[part.place("digest")] = digest.START_OF_CHAIN


def _change(row: list[Any], names: Names) -> None:
    part = files.CHANGES
    at = {name: part.place(name) for name in ("kind", "namespace", "name", "uid", "operation", "object", "actor")}
    kind, operation, content = row[at["kind"]], row[at["operation"]], orjson.loads(row[at["object"]])
    if operation == Operation.SETTING and kind == "Cluster":
        row[at["name"]], content = CLUSTER, _settings(content, names)
    elif operation in (Operation.SETTING, Operation.VERDICT):
        content = names.said(content)
    else:
        names.object(kind, row[at["namespace"]], row[at["name"]])
        content = names.manifest(content)
    for name in ("kind", "namespace", "name", "uid", "actor"):
        if row[at[name]] != CLUSTER:
            row[at[name]] = names.text(row[at[name]])
    row[at["object"]] = orjson.dumps(content)


def _beginning(packed: bytes, names: Names) -> bytes:
    found = packing.unpacked(packed)
    in_flight = [[names.text(uid), names.text(node)] for uid, node in found["in_flight"]]
    attempts = {names.text(uid): number for uid, number in found["attempts"].items()}
    return packing.packed({**found, "in_flight": in_flight, "attempts": attempts})


# -- extenders -------------------------------------------------------------------------------------------------------


def asked(rows: Rows) -> Iterator[ExtenderExchange]:
    """All that extenders were asked."""
    part = files.ATTEMPTS
    matrix, order = part.place("matrix"), part.place("node_order")
    digest_of, packed = files.ORDERS.place("digest"), files.ORDERS.place("names")
    orders = {row[digest_of]: trace_adapters.node_names(row[packed]) for row in rows[files.ORDERS.name]}
    for row in rows[part.name]:
        if row[matrix] is not None:
            try:
                yield from codec.decode(row[matrix], orders.get(row[order], ())).exchanges
            except TraceError as error:
                raise NotReplayableError(f"an attempt cannot be read: {error}") from None
    payload = files.LOG.place("payload")
    for row in rows[files.LOG.name]:
        if row[files.LOG.place("kind")] == LogKind.STEP:
            yield from map(exchange_of, orjson.loads(row[payload]).get("extenders", ()))


def answer_of(exchange: ExtenderExchange, names: Names) -> ExtenderExchange:
    """The same with other names; what is no JSON has none."""
    answer = exchange.answer
    if answer is not None:
        try:
            answer = orjson.dumps(_answered(orjson.loads(answer), names))
        except orjson.JSONDecodeError:
            answer = b"no JSON"
    error = names.whole(exchange.error)
    return msgspec.structs.replace(exchange, extender=names.text(exchange.extender), answer=answer, error=error)


_ANSWER = "nodes nodenames items failednodes failedandunresolvablenodes nodenametometavictims pods uid host score error"
_FIELDS = frozenset((_ANSWER + " numpdbviolations metadata").split())
_BY_NODE = frozenset({"failednodes", "failedandunresolvablenodes", "nodenametometavictims"})


def _answered(value: Any, names: Names, field: str = "") -> Any:
    """Fields are read in any letter case; items are whole nodes."""
    if isinstance(value, dict):
        if field == "items":
            return names.manifest({"apiVersion": "v1", "kind": "Node", **value})
        made = {}
        for key, each in value.items():
            known = field not in _BY_NODE and key.lower() in _FIELDS
            made[key if known else names.text(key)] = _answered(each, names, key.lower() if known else "")
        return made
    if isinstance(value, list):
        return [_answered(each, names, field) for each in value]
    if isinstance(value, str):
        return names.whole(value) if field == "error" or field in _BY_NODE else names.text(value)
    return value
