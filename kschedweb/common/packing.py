"""Values as compressed JSON, for columns that are written often and read whole.

Making a context costs more than using it on a kilobyte, and a context must not be shared by threads: each has its own.

An object of a cluster is compressed beside typical ones (`typical_objects.jsonl`, which is part of the format and never
changes): most of its words stand there, so that it takes a third of the room, and no longer. A byte before the frame
says so; a checksum finds every bit that has changed.
"""

import threading
from pathlib import Path
from typing import Any, Final

import orjson
import zstandard

LEVEL = 1  # 3 makes a pod no smaller and takes twice as long
TYPICAL: Final = Path(__file__).with_name("typical_objects.jsonl")
_OF_AN_OBJECT: Final = b"\x01"  # no frame begins so

_typical = zstandard.ZstdCompressionDict(TYPICAL.read_bytes(), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
_typical.precompute_compress(level=LEVEL)


class _Contexts(threading.local):
    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()
        self.of_objects = zstandard.ZstdCompressor(level=LEVEL, dict_data=_typical, write_checksum=True)
        self.to_objects = zstandard.ZstdDecompressor(dict_data=_typical)


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


def packed_object(value: Any) -> bytes:
    """An object's JSON, compressed beside typical ones; whatever else may be packed so too."""
    return compressed_object(orjson.dumps(value))


def compressed_object(text: bytes) -> bytes:
    """What `packed_object` makes of an object with that JSON."""
    return _OF_AN_OBJECT + _contexts.of_objects.compress(text)


def unpacked(content: bytes | memoryview) -> Any:
    """What `packed` or `packed_object` was given."""
    return orjson.loads(decompressed(content))


def decompressed(content: bytes | memoryview) -> bytes:
    """What `compressed` or `compressed_object` was given; zstandard.ZstdError."""
    try:
        if content[:1] == _OF_AN_OBJECT:
            return _contexts.to_objects.decompress(memoryview(content)[1:], allow_extra_data=False)
        return _contexts.decompressor.decompress(content)
    except MemoryError as error:  # the size it says it has cannot be
        raise zstandard.ZstdError("the frame says that it is larger than there is memory") from error
