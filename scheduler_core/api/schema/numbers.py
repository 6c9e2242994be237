"""Numbers of fields in protobuf, from `numbers.txt`: which field of a type stands at which place of a message.

Source: kubernetes v1.34.1, staging/src/k8s.io/{api,apimachinery}: generated.proto.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from scheduler_core.api.schema.types import kept_types

# Where a field stands: its number, or the numbers of the messages it is inside of and its own.
Place = tuple[int, ...]


def numbers_of(type_name: str) -> dict[str, Place]:
    """The places of a type's fields by name; KeyError when the type has none."""
    return _numbers()[type_name]


@lru_cache(maxsize=1)
def _numbers() -> dict[str, dict[str, Place]]:
    types: dict[str, dict[str, Place]] = {}
    places: dict[str, Place] = {}
    for line in (Path(__file__).parent / "numbers.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        if not line.startswith(" "):
            places = types.setdefault(words.pop(0), {})
        for word in words:
            name, _, numbers = word.partition("=")
            places[name] = tuple(map(int, numbers.split(".")))
    for name, type_ in kept_types().items():
        types[name] = {one.name: tuple(map(int, one.number.split("."))) for one in type_.fields.values() if one.number}
    return types
