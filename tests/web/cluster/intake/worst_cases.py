"""The hardest texts of each format an upload or a configuration may have, made to any size."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable
from typing import Any

from kschedweb.cluster.intake import files, objects
from kschedweb.cluster.intake.files import Received, Upload
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.openb import NODE_HEADER, POD_HEADER
from kschedweb.common.errors import ApplicationError
from scheduler_core import config
from scheduler_core.errors import ConfigError, ExtenderError
from scheduler_core.framework import extender_messages

# So large that no size a test asks for meets them: what is not cut off has to be linear by itself.
LIMITS = Limits(gzip_members=10**9, depth=10**9, values=10**9, alias_values=10**9, objects=10**9)

Make = Callable[[int], bytes]
Take = Callable[[bytes], Any]


def repeated(pump: bytes, head: bytes = b"", tail: bytes = b"") -> Make:
    return lambda size: head + pump * (size // len(pump)) + tail


def numbered(pump: str, head: str = "", tail: str = "") -> Make:
    """Each repetition with a number of its own."""
    return lambda size: (head + "".join(pump.format(n=number) for number in range(size // len(pump))) + tail).encode()


def nested(opening: bytes, closing: bytes) -> Make:
    return lambda size: opening * (size // len(opening) // 2) + closing * (size // len(opening) // 2)


def read(name: str) -> Take:
    def take(content: bytes) -> Any:
        try:
            return objects.read([Upload(name, content)], Limits())
        except ApplicationError:
            return None

    return take


def unpack(content: bytes) -> Any:
    try:
        return files.measure(Received.of("u.gz", content), LIMITS)
    except ApplicationError:
        return None


def load(content: bytes) -> Any:
    try:
        return config.load(content)
    except ConfigError:
        return None


def answer(content: bytes) -> Any:
    try:
        return extender_messages.read_filter_result(content)
    except ExtenderError:
        return None


def stored_blocks(size: int) -> bytes:
    """A gzip file of deflate blocks with nothing in them."""
    return gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * (size // 5) + b"\1\0\0\xff\xff" + bytes(8)


def slow_member(size: int) -> bytes:
    """Hardly packed at all, so that much of it is left each time a piece comes out."""
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    return packer.compress(b"x" * size) + packer.flush()


def archived(size: int) -> bytes:
    """An archive of many files that are passed over, and of some that are opened."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for number in range(size // 1024):
            tar.addfile(tarfile.TarInfo(f"{number}.{'json' if number % 8 == 0 else 'txt'}"))
    return packed.getvalue()


JSON_HEAD = b'{"kind":"List","apiVersion":"v1","items":['
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

CASES: dict[str, tuple[Take, Make]] = {
    "JSON: brackets that open": (read("u.json"), repeated(b"[")),
    "JSON: brackets that open and close": (read("u.json"), nested(b"[", b"]")),
    "JSON: objects in objects": (read("u.json"), repeated(b'{"a":')),
    "JSON: empty lists": (read("u.json"), repeated(b"[],", JSON_HEAD, b"[]]}")),
    "JSON: empty objects": (read("u.json"), repeated(b"{},", JSON_HEAD, b"{}]}")),
    "JSON: small objects": (read("u.json"), numbered('{{"kind":"A","apiVersion":"v1","n":{n}}},', JSON_HEAD.decode())),
    "JSON: escaped quotes without an end": (read("u.json"), repeated(rb"\"", b'{"a":"')),
    "JSON: quotes": (read("u.json"), repeated(b'"', b"{")),
    "JSON: escapes": (read("u.json"), repeated(rb"\u00e9", b'{"a":"', b'"}')),
    "JSON: one key over and over": (read("u.json"), repeated(b'"a":1,', b"{", b'"a":1}')),
    "JSON: a number": (read("u.json"), repeated(b"1", b'{"a":', b"}")),
    "JSON: blanks": (read("u.json"), repeated(b" ", b"{")),
    "JSON: documents": (read("u.json"), numbered('{{"n":{n}}}\n')),
    "JSON: documents that are cut": (read("u.json"), repeated(b'{"a":"\n')),
    "JSON: closing brackets": (read("u.json"), repeated(b"]", b"{}")),
    "JSON: logs without an end": (read("u.json"), repeated(b"==== START logs for container c ====\n", b"{}\n")),
    "JSON: logs": (
        read("u.json"),
        numbered("==== START logs for container {n} ====\n==== END logs for container {n} ====\n", "{}\n"),
    ),
    "YAML: documents that cannot be read": (read("u.yaml"), repeated(b"---\n]\n")),
    "YAML: directives": (read("u.yaml"), repeated(b"%A\n", b"", b"---\n")),
    "YAML: comments before each document": (read("u.yaml"), repeated(b"#\n#\n---\n")),
    "tar: files": (read("u.tar"), archived),
    "YAML: keys": (read("u.yaml"), numbered("k{n}: v\n")),
    "YAML: list items": (read("u.yaml"), repeated(b"- a\n")),
    "YAML: nested list items": (read("u.yaml"), repeated(b"- ")),
    "YAML: brackets": (read("u.yaml"), repeated(b"[", b"a: ")),
    "YAML: braces": (read("u.yaml"), repeated(b"{", b"a: ")),
    "YAML: a flow list": (read("u.yaml"), repeated(b"a, ", b"k: [", b"a]")),
    "YAML: keys of a flow object": (read("u.yaml"), numbered("k{n}, ", "k: {{".replace("{{", "{"), "a}")),
    "YAML: questions": (read("u.yaml"), repeated(b"? ")),
    "YAML: documents": (read("u.yaml"), repeated(b"--- a\n")),
    "YAML: empty documents": (read("u.yaml"), repeated(b"---\n")),
    "YAML: anchors": (read("u.yaml"), numbered("- &a{n} x\n")),
    "YAML: aliases": (read("u.yaml"), repeated(b"- *a\n", b"- &a x\n")),
    "YAML: aliases that repeat": (read("u.yaml"), numbered("- &b{n} [*a, *a]\n", "- &a [x, x]\n")),
    "YAML: tag directives": (read("u.yaml"), numbered("%TAG !a{n}! tag:a\n")),
    "YAML: one tag directive": (read("u.yaml"), repeated(b"%TAG !a! tag:a\n")),
    "YAML: tags": (read("u.yaml"), repeated(b"- !!str a\n")),
    "YAML: comments": (read("u.yaml"), repeated(b"# a\n", b"", b"a: 1\n")),
    "YAML: blank lines": (read("u.yaml"), repeated(b"\n", b"a:\n", b"  b: 1\n")),
    "YAML: blanks": (read("u.yaml"), repeated(b" ", b"a:", b"b\n")),
    "YAML: a plain scalar over lines": (read("u.yaml"), repeated(b"  a\n", b"a:\n")),
    "YAML: a plain scalar": (read("u.yaml"), repeated(b"a ", b"a: ")),
    "YAML: a folded scalar": (read("u.yaml"), repeated(b"  a\n\n", b"a: >\n")),
    "YAML: a quoted scalar without an end": (read("u.yaml"), repeated(rb"\"", b'a: "')),
    "YAML: escapes": (read("u.yaml"), repeated(rb"\u00e9", b'a: "', b'"')),
    "YAML: a number": (read("u.yaml"), repeated(b"1", b"a: ")),
    "YAML: digits and underscores": (read("u.yaml"), repeated(b"1_", b"a: ", b"x")),
    "YAML: numbers": (read("u.yaml"), repeated(b"- 0x_\n- 1e5\n- 2024-13-45\n")),
    "YAML: colons": (read("u.yaml"), repeated(b"a:", b"", b" 1")),
    "YAML: letters that are no ASCII": (read("u.yaml"), repeated("ä".encode(), b"a: ")),
    "CSV: rows": (read("u.csv"), numbered("n{n},1,1,0,\n", ",".join(NODE_HEADER) + "\n")),
    "CSV: columns": (read("u.csv"), repeated(b",", b"", b"\n")),
    "CSV: a field of lines": (read("u.csv"), repeated(b"a\n", ",".join(NODE_HEADER).encode() + b'\n"')),
    "CSV: quotes": (read("u.csv"), repeated(b'""', ",".join(NODE_HEADER).encode() + b'\n"')),
    "CSV: models": (
        read("u.csv"),
        repeated(b"a|", ",".join(POD_HEADER).encode() + b"\np,1,1,1,1,", b"a,LS,Running,0,0,0\n"),
    ),
    "CSV: empty lines": (read("u.csv"), repeated(b"\n", ",".join(NODE_HEADER).encode() + b"\n", b"n,1,1,0,\n")),
    "gzip: members without content": (unpack, repeated(gzip.compress(b"", mtime=0))),
    "gzip: small members": (unpack, repeated(gzip.compress(b"abc", mtime=0))),
    "gzip: members between zeros": (unpack, repeated(gzip.compress(b"", mtime=0) + b"\0" * 20)),
    "gzip: zeros": (unpack, repeated(b"\0", gzip.compress(b"a"))),
    "gzip: blocks without content": (unpack, stored_blocks),
    "gzip: hardly packed": (unpack, slow_member),
    "gzip: a name without an end": (unpack, repeated(b"a", b"\x1f\x8b\x08\x08" + bytes(6))),
    "configuration: profiles": (load, numbered("- schedulerName: a{n}\n", CONFIG + "profiles:\n")),
    "configuration: extenders": (load, numbered("- urlPrefix: http://a{n}\n", CONFIG + "extenders:\n")),
    "configuration: plugins": (
        load,
        numbered("      - name: a{n}\n", CONFIG + "profiles:\n- plugins:\n    score:\n      enabled:\n"),
    ),
    "configuration: disabled plugins": (
        load,
        numbered("      - name: a{n}\n", CONFIG + "profiles:\n- plugins:\n    multiPoint:\n      disabled:\n"),
    ),
    "configuration: plugin configs": (load, numbered("  - name: a{n}\n", CONFIG + "profiles:\n- pluginConfig:\n")),
    "configuration: unknown fields": (load, numbered("a{n}: 1\n", CONFIG)),
    "configuration: a duration": (load, repeated(b"1h", CONFIG.encode() + b"leaderElection:\n  leaseDuration: ")),
    "configuration: managed resources": (
        load,
        numbered("  - name: a.b/c{n}\n", CONFIG + "extenders:\n- urlPrefix: http://a\n  managedResources:\n"),
    ),
    "extender: brackets": (answer, repeated(b"[")),
    "extender: failed nodes": (answer, numbered('"n{n}":"r",', '{{"FailedNodes":{{'.replace("{{", "{"), '"n":"r"}}')),
    "extender: names": (answer, numbered('"n{n}",', '{"NodeNames":[', '"n"]}')),
    "extender: keys": (answer, numbered('"k{n}":1,', "{", '"k":1}')),
}
