"""An API server in one cheap process, for a mirror to follow: lists in pages, watches with bookmarks, from memory.

    python -m tools.bench.elsewhere.server PORT NODES PODS

It speaks what a mirror asks for: `limit` and `continue` (a list is of one moment, however long its pages take),
`watch` from any version it still remembers, 410 for older ones, bookmarks, `timeoutSeconds`, gzip for lists as
kube-apiserver sends them. Only the bearer token TOKEN is let in.

`GET /-/changes?rate=N` begins N changes a second: pods are created, bound, run and are deleted, nodes report; rate 0
ends them. `GET /-/made` tells the versions made since it was last asked, with kind and moment (seconds since 1970).
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import parse_qs, urlsplit

import orjson

from scheduler_core.following.kinds import FOLLOWED, Collected
from tools.bench.elsewhere.objects import (
    CREATED,
    NAMESPACES,
    SETS_PER_NAMESPACE,
    Manifest,
    node_manifest,
    pod_manifest,
)

TOKEN = "bench"
REMEMBERED = 100_000  # changes; who asks for older ones gets 410
BOOKMARK_SECONDS = 5.0
TICK_SECONDS = 0.02
_GZIP_FROM = 128 << 10  # bytes, as kube-apiserver does
_GZIP_LEVEL = 1
_PLURALS = {Collected(kind).path: kind for kind in FOLLOWED}
_API_VERSIONS = {kind: Collected(kind).api_version for kind in FOLLOWED}

Key = tuple[str, str]  # namespace, name


@dataclass
class Store:
    """Objects as JSON by kind, and the changes of each kind. Versions are one sequence."""

    version: int = 1_000
    objects: dict[str, dict[Key, bytes]] = field(default_factory=lambda: {kind: {} for kind in FOLLOWED})
    changes: dict[str, deque[tuple[int, bytes]]] = field(default_factory=dict)
    made: list[tuple[int, str, float]] = field(default_factory=list)  # version, kind, when
    _moments: dict[str, tuple[int, list[bytes]]] = field(default_factory=dict)  # lists being read, by token

    def __post_init__(self) -> None:
        for kind in FOLLOWED:
            self.changes.setdefault(kind, deque(maxlen=REMEMBERED))

    def put(self, kind: str, manifest: Manifest, uid: str = "") -> None:
        """Create or change an object."""
        text, key = self._numbered(kind, manifest, uid)
        type_ = b"MODIFIED" if key in self.objects[kind] else b"ADDED"
        self.objects[kind][key] = text
        self._changed(kind, type_, text)

    def delete(self, kind: str, manifest: Manifest, uid: str = "") -> None:
        text, key = self._numbered(kind, manifest, uid)
        if self.objects[kind].pop(key, None) is not None:
            self._changed(kind, b"DELETED", text)

    def fill(self, kind: str, manifests: Iterator[tuple[Manifest, str]]) -> None:
        """What is there from the beginning: no change tells of it."""
        found = {}
        for manifest, uid in manifests:
            text, key = self._numbered(kind, manifest, uid)
            found[key] = text
        self.objects[kind] = found

    def page(self, kind: str, limit: int, token: str) -> bytes | None:
        """A page of the list; None when its token is not known (any more)."""
        if token:
            head, _, at_text = token.partition(".")
            if head not in self._moments:
                return None
            version, texts = self._moments[head]
            at = int(at_text)
        else:
            head, at = f"{kind}-{self.version}-{len(self._moments)}", 0
            version, texts = self.version, [text for _, text in sorted(self.objects[kind].items())]
        end = at + limit if limit else len(texts)
        more = b""
        if end < len(texts):
            self._moments[head] = version, texts
            more = b',"continue":"%s.%d","remainingItemCount":%d' % (head.encode(), end, len(texts) - end)
        else:
            self._moments.pop(head, None)
        return b'{"kind":"%sList","apiVersion":"%s","metadata":{"resourceVersion":"%d"%s},"items":[%s]}' % (
            kind.encode(),
            _API_VERSIONS[kind].encode(),
            version,
            more,
            b",".join(texts[at:end]),
        )

    def remembers(self, kind: str, version: int) -> bool:
        """Whether every change of the kind after the version is still here."""
        changes = self.changes[kind]
        return version <= self.version and (len(changes) < REMEMBERED or version >= changes[0][0] - 1)

    def _numbered(self, kind: str, manifest: Manifest, uid: str) -> tuple[bytes, Key]:
        self.version += 1
        metadata: Manifest = {**manifest["metadata"], "resourceVersion": str(self.version)}
        if uid:
            metadata["uid"] = uid
        return orjson.dumps({**manifest, "metadata": metadata}), (
            str(metadata.get("namespace", "")),
            str(metadata["name"]),
        )

    def _changed(self, kind: str, type_: bytes, text: bytes) -> None:
        whole = b'{"kind":"%s","apiVersion":"%s",%s' % (kind.encode(), _API_VERSIONS[kind].encode(), text[1:])
        self.changes[kind].append((self.version, b'{"type":"%s","object":%s}\n' % (type_, whole)))
        self.made.append((self.version, kind, time.time()))


def filled(nodes: int, pods: int) -> Store:
    """A cluster with running pods spread over its nodes."""
    store = Store()
    store.fill("Node", ((node_manifest(each), "") for each in range(nodes)))
    store.fill(
        "Pod", ((pod_manifest(each, f"node-{each % nodes:05}", "Running"), f"pod-{each}-0") for each in range(pods))
    )

    def named(kind: str, namespace: str, name: str, spec: Manifest) -> tuple[Manifest, str]:
        metadata = {"name": name, "creationTimestamp": CREATED} | ({"namespace": namespace} if namespace else {})
        return {"metadata": metadata, "spec": spec}, f"{kind}-{namespace}-{name}"

    namespaces = [f"ns-{each:02}" for each in range(NAMESPACES)]
    owners = [(space, f"app-{each:02}") for space in namespaces for each in range(SETS_PER_NAMESPACE)]
    store.fill("Namespace", (named("Namespace", "", each, {"finalizers": ["kubernetes"]}) for each in namespaces))
    store.fill(
        "ReplicaSet",
        (
            named(
                "ReplicaSet",
                space,
                name,
                {
                    "replicas": 50,
                    "selector": {"matchLabels": {"app": name}},
                    "template": {
                        "metadata": {"labels": {"app": name}},
                        "spec": {"containers": [{"name": "main", "image": "i"}]},
                    },
                },
            )
            for space, name in owners
        ),
    )
    store.fill(
        "Service",
        (
            named("Service", space, name, {"selector": {"app": name}, "ports": [{"port": 80}], "type": "ClusterIP"})
            for space, name in owners[::4]
        ),
    )
    return store


@dataclass
class Life:
    """What happens in the cluster: each pod of a turn is deleted, created anew, bound elsewhere and run; nodes report.

    Of five changes four are of pods; one is a node's.
    """

    store: Store
    nodes: int
    pods: int
    _turn: int = 0

    def changes(self) -> Iterator[None]:
        """One change each time it is asked for."""
        while True:
            number = self._turn * 7919 % self.pods  # far apart, so that equal pods are not together
            self._turn += 1
            uid, old = f"pod-{number}-{self._turn}", f"node-{number % self.nodes:05}"
            node = f"node-{(number + self._turn * 13) % self.nodes:05}"
            self.store.delete("Pod", pod_manifest(number, old, "Running"), self._uid(number))
            yield
            self.store.put("Pod", pod_manifest(number), uid)
            yield
            self.store.put("Pod", pod_manifest(number, node), uid)
            yield
            self.store.put("Pod", pod_manifest(number, node, "Running"), uid)
            yield
            self.store.put("Node", node_manifest(self._turn % self.nodes, self._turn))
            yield

    def _uid(self, number: int) -> str:
        namespace, owner = f"ns-{number % NAMESPACES:02}", f"app-{number // NAMESPACES % SETS_PER_NAMESPACE:02}"
        text = self.store.objects["Pod"][namespace, f"{owner}-{number:06}"]
        return str(orjson.loads(text)["metadata"]["uid"])


class Server:
    """HTTP/1.1 with kept connections; GET alone."""

    def __init__(self, store: Store, life: Life) -> None:
        self.store = store
        self._changes = life.changes()
        self._rate = 0.0
        self._news = asyncio.Condition()

    async def serve(self, port: int, ready: Callable[[int], None]) -> None:
        """Serve until cancelled; `ready` hears of the port, a free one for 0."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        ready(server.sockets[0].getsockname()[1])
        await self._live()

    async def _live(self) -> None:
        due, last = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            due, last = due + (now - last) * self._rate, now
            if due >= 1:
                for _ in range(int(due)):
                    next(self._changes)
                due -= int(due)
                async with self._news:
                    self._news.notify_all()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                request, *lines = head.decode("latin-1").split("\r\n")
                method, target, _ = request.split(" ")
                headers = {
                    name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
                }
                await self._answer(writer, method, target, headers)
                await writer.drain()
        writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, method: str, target: str, headers: dict[str, str]) -> None:
        address = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        if method != "GET":
            return _send(writer, 405, _status(405, "MethodNotAllowed", "only GET is served"))
        if address.path.startswith("/-/"):
            return _send(writer, 200, self._told(address.path, query))
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return _send(writer, 401, _status(401, "Unauthorized", "Unauthorized"))
        kind = _PLURALS.get(address.path)
        if kind is None:
            return _send(writer, 404, _status(404, "NotFound", "the server could not find the requested resource"))
        if query.get("watch") in ("1", "true"):
            return await self._watch(writer, kind, query)
        page = self.store.page(kind, int(query.get("limit", 0)), query.get("continue", ""))
        if page is None:
            return _send(writer, 410, _status(410, "Expired", "The provided continue parameter is too old"))
        _send(writer, 200, page, may_pack="gzip" in headers.get("accept-encoding", ""))
        return None

    def _told(self, path: str, query: dict[str, str]) -> bytes:
        if path == "/-/changes":
            self._rate = float(query["rate"])
            return b"{}"
        made, self.store.made = self.store.made, []
        return orjson.dumps(made)

    async def _watch(self, writer: asyncio.StreamWriter, kind: str, query: dict[str, str]) -> None:
        version = int(query.get("resourceVersion") or self.store.version)
        if not self.store.remembers(kind, version):
            return _send(writer, 410, _status(410, "Expired", f"too old resource version: {version}"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        ends_at = time.monotonic() + float(query.get("timeoutSeconds", 300))
        async for text in self._news_of(kind, version, ends_at, "allowWatchBookmarks" in query):
            writer.write(b"%x\r\n%s\r\n" % (len(text), text))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async def _news_of(self, kind: str, version: int, ends_at: float, bookmarks: bool) -> AsyncIterator[bytes]:
        marked_at = time.monotonic()
        while time.monotonic() < ends_at:
            news: list[bytes] = []
            for at, text in reversed(self.store.changes[kind]):
                if at <= version:
                    break
                news.append(text)
            version = self.store.version
            if news:
                yield b"".join(reversed(news))
            elif bookmarks and time.monotonic() - marked_at > BOOKMARK_SECONDS:
                marked_at = time.monotonic()
                yield _bookmark(kind, version)
            with contextlib.suppress(TimeoutError):
                async with self._news:
                    await asyncio.wait_for(self._news.wait_for(partial(self._is_past, version)), 1.0)

    def _is_past(self, version: int) -> bool:
        return self.store.version != version


def _bookmark(kind: str, version: int) -> bytes:
    obj = {"kind": kind, "apiVersion": _API_VERSIONS[kind], "metadata": {"resourceVersion": str(version)}}
    return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"


def _status(code: int, reason: str, message: str) -> bytes:
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
    )


def _send(writer: asyncio.StreamWriter, code: int, content: bytes, *, may_pack: bool = False) -> None:
    packed = ""
    if may_pack and len(content) > _GZIP_FROM:
        packer = zlib.compressobj(_GZIP_LEVEL, wbits=31)
        content, packed = packer.compress(content) + packer.flush(), "Content-Encoding: gzip\r\n"
    writer.write(
        f"HTTP/1.1 {code} -\r\nContent-Type: application/json\r\n{packed}"
        f"Content-Length: {len(content)}\r\n\r\n".encode()
    )
    writer.write(content)


@contextlib.contextmanager
def serving(server: Server) -> Iterator[int]:
    """Serve in a thread of this process, on a free port, which is given."""
    ready: queue.Queue[tuple[int, asyncio.AbstractEventLoop, asyncio.Task[None]]] = queue.Queue()

    async def serve() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve(0, lambda port: ready.put((port, loop, task)))

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="elsewhere", daemon=True)
    thread.start()
    port, loop, task = ready.get(timeout=20)
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10)


def main(words: list[str]) -> None:
    port, nodes, pods = map(int, words)
    store = filled(nodes, pods)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(
            Server(store, Life(store, nodes, pods)).serve(port, lambda found: print(f"serving on {found}", flush=True))
        )


if __name__ == "__main__":
    main(sys.argv[1:])
