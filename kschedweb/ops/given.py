"""What `./ksched import` is given: files, folders, standard input. A folder is packed into one archive.

Of a folder the files go along that the service opens; the others are counted. Links to folders are not followed.
"""

import io
import os
import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kschedweb.cluster.intake.archives import is_read
from kschedweb.cluster.intake.limits import Limits

STANDARD_INPUT = "-"
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class NotGivenError(Exception):
    """What is named cannot be had; the text says why."""


@dataclass(slots=True)
class Given:
    """Files with their names, as they are sent, and how many files of folders are not."""

    uploads: list[tuple[str, bytes]]
    passed_over: int = 0


def read(words: Sequence[str | Path]) -> Given:
    """All that the words name; NotGivenError, OSError."""
    given = Given([])
    for word in map(str, words):
        if _URL.match(word):
            raise NotGivenError(f"{word} is a URL, which is not fetched: curl -fsSL {word} | ./ksched import -")
        path = Path(word)
        if word == STANDARD_INPUT:
            given.uploads.append(("stdin", _standard_input([name for name, _ in given.uploads])))
        elif path.is_dir():
            given.uploads.append((_name(path), _packed(path, given)))
        else:
            given.uploads.append((path.name, path.read_bytes()))
    return given


def default_name(word: str | Path) -> str:
    """A cluster's name from that of what is imported: `My dump.json.gz` makes `my-dump`."""
    name = "" if str(word) == STANDARD_INPUT else _name(Path(word))
    stem = name.partition(".")[0].lower()
    return re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:63].strip("-") or "imported"


def _name(path: Path) -> str:
    return path.name if path.name.strip(".") else path.resolve().name


def _standard_input(before: Sequence[str]) -> bytes:
    if "stdin" in before:
        raise NotGivenError("standard input can be read once")
    content = sys.stdin.buffer.read()
    if not content:
        raise NotGivenError("standard input is empty")
    return content


def _packed(folder: Path, given: Given) -> bytes:
    """The folder's files in an archive, in the order of their names."""
    packed, found, size, limits = io.BytesIO(), 0, 0, Limits()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as tar:
        for path in _files(folder):
            if not is_read(path.name) or not path.is_file():
                given.passed_over += 1
                continue
            content = path.read_bytes()
            found, size = found + 1, size + len(content)
            if size > limits.unpacked_bytes or found > limits.archive_files:
                most = f"{limits.archive_files:,} files or {limits.unpacked_bytes:,} bytes"
                raise NotGivenError(f"{folder} has more than {most} to import")
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    if not found:
        raise NotGivenError(f"{folder} has no file *.yaml, *.yml or *.json, packed or not")
    return packed.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names))
