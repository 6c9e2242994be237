"""The bundled sample cluster: made by code from a seed, put in through the same doors as any user's objects."""

from kschedweb.ops.sample.load import load

__all__ = ["load"]
