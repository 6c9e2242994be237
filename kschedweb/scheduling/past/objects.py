"""All objects as they were at a position of the change log, from the nearest checkpoint and the entries after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import orjson
import zstandard

from kschedweb.cluster import follow
from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS
from kschedweb.common import packing
from kschedweb.scheduling.past import journal, stores
from kschedweb.scheduling.past.errors import DamagedError, HistoryCutError
from scheduler_core.api.sharing import Sharing
from scheduler_core.apiserver.store import Operation
from scheduler_core.model.changes import ObjectPut

Key = tuple[str, str, str]  # kind, namespace, name
ROWS_AT_ONCE = 5_000
_ORDER = {"Node": 0, "Pod": 2}  # other kinds between them, as an engine gets them
_OPERATIONS = tuple(str(each) for each in Operation)


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


class _Line(msgspec.Struct):
    kind: str
    rv: int
    manifest: msgspec.Raw


_lines = msgspec.json.Decoder(_Line)
_named = msgspec.json.Decoder(_Named)


@dataclass(slots=True)
class Objects:
    """Manifests as JSON with the positions of their last changes, in the order of their creation.

    What is confidential is left out, as it is of checkpoints.
    """

    cluster_id: int
    rv: int = 0
    texts: dict[Key, tuple[int, bytes]] = field(default_factory=dict)

    def puts(self) -> list[ObjectPut]:
        """As an engine gets them that is made of them: nodes, other kinds, then pods."""
        sharing = Sharing()
        found = [
            follow.object_put(kind, orjson.loads(text), rv, sharing) for (kind, _, _), (rv, text) in self.ordered()
        ]
        return [each for each in found if each is not None]

    def manifests(self, kind: str) -> list[dict[str, Any]]:
        """Those of a kind."""
        return [orjson.loads(text) for (of_kind, _, _), (_, text) in self.ordered() if of_kind == kind]

    def packed(self, level: int) -> bytes:
        """As a checkpoint keeps them."""
        compressor = packing.checked_compressor(level).compressobj()
        lines = (
            compressor.compress(b'{"kind":"%b","rv":%d,"manifest":%b}\n' % (kind.encode(), rv, text))
            for (kind, _, _), (rv, text) in self.ordered()
        )
        return b"".join((*lines, compressor.flush()))

    def ordered(self) -> Iterator[tuple[Key, tuple[int, bytes]]]:
        return iter(sorted(self.texts.items(), key=lambda each: _ORDER.get(each[0][0], 1)))

    def copy(self) -> Objects:
        """The same, which may be led on by itself."""
        return Objects(self.cluster_id, self.rv, dict(self.texts))

    def advance(self, rv: int) -> None:
        """Go on to a later position; HistoryCutError, ClusterGoneError, DamagedError."""
        while self.rv < rv:
            until = min(rv, self.rv + ROWS_AT_ONCE)
            rows = stores.of(self.cluster_id).objects_changed(self.rv, until)
            if len(rows) < until - self.rv:
                raise HistoryCutError(*journal.begins(self.cluster_id))
            for row in rows:
                self.take(*row)
            self.rv = until

    def take(self, kind: str, namespace: str, name: str, operation: str, rv: int, content: bytes) -> None:
        """Take one entry of the change log, `content` as it is stored; DamagedError."""
        if operation not in _OPERATIONS or kind in CONFIDENTIAL_KINDS:
            return
        if operation == Operation.DELETED:
            self.texts.pop((kind, namespace, name), None)
        else:
            try:
                self.texts[kind, namespace, name] = rv, packing.decompressed(content)
            except zstandard.ZstdError as error:
                raise DamagedError(f"the change log is damaged at {rv}: {error}") from error


def objects_at(cluster_id: int, rv: int) -> Objects:
    """Every object at a position; HistoryCutError, ClusterGoneError, DamagedError."""
    store = stores.of(cluster_id)
    with store.reading():
        begins = journal.begins(cluster_id)
        if rv < begins[0]:
            raise HistoryCutError(*begins)
        found = store.objects_before(rv)
        try:
            objects = Objects(cluster_id) if found is None else unpacked(cluster_id, found[0], _text(found[1]))
        except (zstandard.ZstdError, msgspec.DecodeError) as error:
            raise DamagedError(f"the objects of the checkpoint before {rv} are damaged: {error}") from error
        objects.advance(rv)
    return objects


def _text(content: bytes) -> bytes:
    reading = zstandard.ZstdDecompressor().decompressobj()
    text = reading.decompress(content)
    if not reading.eof:
        raise zstandard.ZstdError("the frame is not complete")
    return text


def unpacked(cluster_id: int, rv: int, text: bytes) -> Objects:
    """What the lines of a checkpoint say."""
    objects = Objects(cluster_id, rv)
    for each in text.split(b"\n")[:-1]:
        line = _lines.decode(each)
        metadata = _named.decode(line.manifest).metadata
        objects.texts[line.kind, metadata.namespace, metadata.name] = line.rv, bytes(line.manifest)
    return objects
