"""Values as compressed JSON, for columns that are written often and read whole.

Making a context costs more than using it on a kilobyte, and a context must not be shared by threads: each has its own.
"""

import threading
from typing import Any

import orjson
import zstandard

LEVEL = 1  # 3 makes a pod no smaller and takes twice as long


class _Contexts(threading.local):
    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def checked_compressor(level: int) -> zstandard.ZstdCompressor:
    """One that adds a checksum: whoever unpacks what it made is told when a bit of it has changed."""
    return zstandard.ZstdCompressor(level=level, write_checksum=True)


def kept_json(value: Any) -> bytes:
    """The value's JSON, to be kept: orjson's own results hold on to the room they were written in, 4 KiB or more."""
    return bytes(memoryview(orjson.dumps(value)))


def packed(value: Any) -> bytes:
    """The value's JSON, compressed."""
    return compressed(orjson.dumps(value))


def compressed(text: bytes) -> bytes:
    """What `packed` makes of a value with that JSON."""
    return _contexts.compressor.compress(text)


def unpacked(content: bytes | memoryview) -> Any:
    """What `packed` was given."""
    return orjson.loads(decompressed(content))


def decompressed(content: bytes | memoryview) -> bytes:
    """What `compressed` was given."""
    return _contexts.decompressor.decompress(content)
