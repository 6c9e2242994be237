"""The matrix of an attempt as bytes: `encode` writes a blob, `decode` reads it. What is in it: `layout`."""

from scheduler_core.trace.codec.layout import LAYOUT, MAX_BYTES
from scheduler_core.trace.codec.reading import decode
from scheduler_core.trace.codec.writing import encode

__all__ = ["LAYOUT", "MAX_BYTES", "decode", "encode"]
