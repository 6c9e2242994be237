"""Writes the TypeScript of the live contract from events.py, and says when the written file is stale.

`python -m kschedweb.live.contract` writes frontend/src/contract/events.gen.ts; with --check it writes nothing and ends
with 1 and a line of advice when the file differs. Needs neither Django nor a database.
"""

import argparse
import dataclasses
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.live import events

TARGET = Path(__file__).resolve().parents[2] / "frontend" / "src" / "contract" / "events.gen.ts"

HEADER = "// Written by `python -m kschedweb.live.contract` from kschedweb/live/events.py. Do not edit.\n"
PRIMITIVES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
ALIASES = ("QueueName", "CacheMove", "Pace", "LifecycleMode")
UNIONS = ("ChangeLogEvent", "EngineLogEvent", "LiveEvent", "Message")


def render() -> str:
    """The whole TypeScript file."""
    parts = [HEADER, "/** [rv, seq]: how far a reader has come in the change log and in the engine log. */"]
    parts.append("export type Cursor = readonly [rv: number, seq: number];\n")
    for name in ALIASES:
        parts.append(_union(name, [f"{value!r}".replace("'", '"') for value in typing.get_args(getattr(events, name))]))
    for value in vars(events).values():
        if isinstance(value, type) and dataclasses.is_dataclass(value):
            parts.append(_interface(value))
    for name in UNIONS:
        parts.append(_union(name, [member.__name__ for member in _members(name)]))
    return "\n".join(parts)


def _members(name: str) -> Sequence[type]:
    return typing.get_args(getattr(events, name))


def _union(name: str, members: Sequence[str]) -> str:
    return f"export type {name} =\n" + "".join(f"  | {member}\n" for member in members).rstrip("\n") + ";\n"


def _interface(cls: type) -> str:
    hints = typing.get_type_hints(cls)
    lines = []
    for field in sorted(dataclasses.fields(cls), key=lambda field: field.name != "type"):
        lines.append(f"  readonly {field.name.rstrip('_')}: {_type(hints[field.name])};\n")
    return f"export interface {cls.__name__} {{\n{''.join(lines)}}}\n"


def _type(hint: Any) -> str:
    if hint in PRIMITIVES:
        return PRIMITIVES[hint]
    for name in ALIASES:
        if hint is getattr(events, name):
            return name
    for name in UNIONS:
        if hint == getattr(events, name):
            return name
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hint is events.Cursor):
        return hint.__name__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin is Sequence:
        return f"readonly {_type(arguments[0])}[]"
    if origin is Mapping:
        return f"Readonly<Record<{_type(arguments[0])}, {_type(arguments[1])}>>"
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_type(argument) for argument in arguments)
    raise TypeError(f"live events must not use {hint!r}: it has no TypeScript form here")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kschedweb.live.contract", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the written file is fresh")
    arguments = parser.parse_args(argv)
    wanted = render()
    written = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    if wanted == written:
        return 0
    if arguments.check:
        print("frontend/src/contract/events.gen.ts is stale: run python -m kschedweb.live.contract", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(wanted, encoding="utf-8")
    print(f"written: {TARGET.relative_to(Path(__file__).resolve().parents[2])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
