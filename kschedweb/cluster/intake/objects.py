"""Documents to single objects: lists are opened, names read, and every object knows where it stood."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from kschedweb.cluster.intake import files, json_text, openb, yaml_text
from kschedweb.cluster.intake.files import Format, Upload
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadInvalidError, UploadTooLargeError
from scheduler_core.api.older_claims import current_form
from scheduler_core.config.feature_gates import CONTROL_PLANE_CLAIMS


@dataclass(slots=True)
class Item:
    """One object of an upload. `api_version` and `kind` are "" where neither it nor its list names them."""

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
        return f"{self.kind} {namespace}/{name}" if namespace else f"{self.kind} {name}".rstrip()


@dataclass(frozen=True, slots=True)
class FileReport:
    """What a file was taken for."""

    name: str
    format: str
    bytes: int
    documents: int
    objects: int


def read(uploads: Sequence[Upload], limits: Limits) -> tuple[list[Item], list[FileReport]]:
    """All objects of all files, in their order; an ApplicationError for what cannot be read."""
    if not uploads:
        raise UnreadableError(Place("upload"), "has no file")
    if len(uploads) > limits.files:
        raise UploadTooLargeError(Place("upload"), f"has more than {limits.files} files", limit=limits.files)
    items: list[Item] = []
    reports: list[FileReport] = []
    unpacked = 0
    for upload in uploads:
        text = files.open_text(upload, limits)
        unpacked += len(text.content)
        if unpacked > limits.unpacked_bytes:
            raise UploadTooLargeError(
                Place(upload.name), f"unpacks to more than {limits.unpacked_bytes:,} bytes", limit=limits.unpacked_bytes
            )
        before, documents = len(items), 0
        for place, value in _documents(text, limits):
            documents = max(documents, place.document, 1)
            for item in _opened(place, value):
                items.append(item)
                if len(items) > limits.objects:
                    raise UploadTooLargeError(
                        item.place, f"has more than {limits.objects:,} objects", limit=limits.objects
                    )
        reports.append(FileReport(text.name, text.format, len(text.content), documents, len(items) - before))
    if not items:
        raise UnreadableError(Place(uploads[0].name), "has no object")
    return items, reports


def _documents(text: files.TextFile, limits: Limits) -> Iterator[tuple[Place, Any]]:
    if text.format is Format.CSV:
        yield from openb.read(text.name, text.content.decode())
    elif text.format is Format.JSON:
        value = json_text.read(text.name, text.content, limits)
        # A bare list of objects is what some tools write; it reads like several documents.
        if isinstance(value, list):
            for number, item in enumerate(value, 1):
                yield Place(text.name, document=1, item=number), item
        else:
            yield Place(text.name, document=1), value
    else:
        yield from yaml_text.read(text.name, text.content, limits)


def _opened(place: Place, value: Any) -> Iterator[Item]:
    """The object of a document, or the items of a list (`List`, or a typed one such as `PodList`)."""
    if not isinstance(value, dict):
        raise UploadInvalidError(place, "", "", f"expected an object with apiVersion and kind, got {_what(value)}")
    kind, version = _named(place, value, "kind"), _named(place, value, "apiVersion")
    items = value.get("items")
    if not kind.endswith("List") or "items" not in value:
        yield _item(place, value, version, kind)
        return
    if items is None:
        return
    if not isinstance(items, list):
        raise UploadInvalidError(place, kind, "items", f"expected a list, got {_what(items)}")
    of_kind = kind.removesuffix("List")
    for number, manifest in enumerate(items, 1):
        at = Place(place.file, place.document, number)
        if not isinstance(manifest, dict):
            raise UploadInvalidError(at, "", "", f"expected an object, got {_what(manifest)}")
        yield _item(
            at,
            manifest,
            _named(at, manifest, "apiVersion") or (version if of_kind else ""),
            _named(at, manifest, "kind") or of_kind,
        )


def _item(place: Place, manifest: dict[str, Any], version: str, kind: str) -> Item:
    """The object, read in the form of resource.k8s.io/v1alpha2 where the scheduler has the gate for it."""
    if kind and settings.FEATURE_GATES.get(CONTROL_PLANE_CLAIMS):
        manifest = current_form({**manifest, "apiVersion": version, "kind": kind})
        version = str(manifest["apiVersion"])
    return Item(place, manifest, version, kind)


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
