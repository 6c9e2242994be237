"""Documents to single objects: lists are opened, names read, and every object knows where it stood."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from kschedweb.cluster.intake import json_text, openb, yaml_text
from kschedweb.cluster.intake.archives import Opening
from kschedweb.cluster.intake.files import Format, TextFile, Upload
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import (
    Place,
    Refusals,
    UnreadableError,
    UploadInvalidError,
    UploadTooLargeError,
)
from scheduler_core.api.older_claims import current_form
from scheduler_core.config.feature_gates import CONTROL_PLANE_CLAIMS

LIST = "List"


@dataclass(slots=True)
class Item:
    """One object of an upload."""

    place: Place
    manifest: dict[str, Any]
    api_version: str
    kind: str

    @property
    def title(self) -> str:
        """How messages name it: `Pod default/web-1`."""
        metadata = self.manifest.get("metadata")
        name = namespace = ""
        if isinstance(metadata, dict):
            name, namespace = _text(metadata.get("name")), _text(metadata.get("namespace"))
        return (f"{self.kind} {namespace}/{name}" if namespace else f"{self.kind} {name}").strip()


@dataclass(frozen=True, slots=True)
class FileReport:
    """What a file was taken for."""

    name: str
    format: str
    bytes: int
    documents: int
    objects: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What an upload holds: objects in their order, what each file was taken for, and what cannot be read."""

    items: list[Item]
    files: list[FileReport]
    refused: Refusals
    passed_over: Counter[str]


def read(uploads: Sequence[Upload], limits: Limits, *, partial: bool = False) -> Contents:
    """All objects of all files; an ApplicationError names all that cannot be read, unless `partial` and some can."""
    if not uploads:
        raise UnreadableError(Place("upload"), "has no file")
    if len(uploads) > limits.files:
        raise UploadTooLargeError(Place("upload"), f"has more than {limits.files} files", limit=limits.files)
    refused = Refusals(limits.refusals_listed)
    opening = Opening(limits, refused)
    found = Contents([], [], refused, opening.passed_over)
    for upload in uploads:
        for text in opening.texts(upload):
            _read_file(text, limits, found)
    if not partial or not found.items:
        found.refused.check()
    if not found.items:
        raise UnreadableError(Place(uploads[0].name), "has no object")
    return found


def _read_file(text: TextFile, limits: Limits, found: Contents) -> None:
    """Add the file's objects and report; UploadTooLargeError."""
    before, documents = len(found.items), 0
    with found.refused.noting():
        for place, value in _documents(text, limits):
            documents = max(documents, place.document, 1)
            if isinstance(value, UnreadableError):
                found.refused.add(value)
                continue
            for item in _opened(place, value, found.refused):
                found.items.append(item)
                if len(found.items) > limits.objects:
                    detail = f"has more than {limits.objects:,} objects"
                    raise UploadTooLargeError(item.place, detail, limit=limits.objects)
    objects = len(found.items) - before
    found.files.append(FileReport(text.name, text.format, len(text.content), documents, objects))


def _documents(text: TextFile, limits: Limits) -> Iterator[tuple[Place, Any]]:
    """The documents of a file with their places, an UnreadableError in place of one that cannot be read."""
    if text.format is Format.CSV:
        yield from openb.read(text.name, text.content.decode())
    elif text.format is Format.JSON:
        for place, value in json_text.read(text.name, text.content, limits):
            # A bare list of objects is what some tools write; it reads like several documents.
            if isinstance(value, list) and value:
                for number, item in enumerate(value, 1):
                    yield Place(text.name, place.document, item=number), item
            else:
                yield place, value
    else:
        yield from yaml_text.read(text.name, text.content, limits)


def _opened(place: Place, value: Any, refused: Refusals) -> Iterator[Item]:
    """The object of a document, or the items of a list (`List`, or a typed one such as `PodList`).

    Of a `List` that is an item the items come as well, and all have its place.
    """
    if value == []:
        return  # a list without objects
    with refused.noting():
        manifest = _object(place, value, "an object with apiVersion and kind")
        kind, version = _named(place, manifest, "kind"), _named(place, manifest, "apiVersion")
        if kind.endswith("List") and "items" in manifest:
            yield from _items(place, manifest, kind, version, refused)
        else:
            yield _item(place, manifest, version, kind)


def _items(place: Place, manifest: dict[str, Any], kind: str, version: str, refused: Refusals) -> Iterator[Item]:
    items = manifest["items"]
    if not isinstance(items, list | None):
        raise UploadInvalidError(place, kind, "items", f"expected a list, got {_what(items)}")
    of_kind = kind.removesuffix("List")
    of_version = version if of_kind else ""
    for number, value in enumerate(items or (), 1):
        at = place if place.item else Place(place.file, place.document, number)
        with refused.noting():
            item = _object(at, value, "an object")
            named, its_kind = _named(at, item, "apiVersion"), _named(at, item, "kind")
            if its_kind == LIST and "items" in item:
                yield from _items(at, item, its_kind, named, refused)
            else:
                yield _item(at, item, named or of_version, its_kind or of_kind)


def _item(place: Place, manifest: dict[str, Any], version: str, kind: str) -> Item:
    """The object, read in the form of resource.k8s.io/v1alpha2 where the scheduler has the gate for it."""
    for field, value in (("kind", kind), ("apiVersion", version)):
        if not value or "\0" in value:
            problem = "is required" if not value else "has a character of code 0"
            raise UploadInvalidError(place, Item(place, manifest, version, kind).title, field, problem)
    if settings.FEATURE_GATES.get(CONTROL_PLANE_CLAIMS):
        manifest = current_form({**manifest, "apiVersion": version, "kind": kind})
        version = str(manifest["apiVersion"])
    return Item(place, manifest, version, kind)


def _object(place: Place, value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UploadInvalidError(place, "", "", f"expected {what}, got {_what(value)}")
    return value


def _named(place: Place, manifest: dict[str, Any], field: str) -> str:
    value = manifest.get(field)
    if value is not None and not isinstance(value, str):
        raise UploadInvalidError(place, "", field, f"expected text, got {_what(value)}")
    return value or ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _what(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f"the text {value[:40]!r}" if isinstance(value, str) else f"the number {value}"
