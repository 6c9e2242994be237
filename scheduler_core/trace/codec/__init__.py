"""The matrix of an attempt as bytes: `encode` writes a blob, `decode` reads one, `is_of` compares one; see `layout`."""

from scheduler_core.trace.codec.layout import LAYOUT, MAX_BYTES
from scheduler_core.trace.codec.reading import decode
from scheduler_core.trace.codec.writing import encode, is_of

__all__ = ["LAYOUT", "MAX_BYTES", "decode", "encode", "is_of"]
