"""Imports and other uploads of objects: what became of them, or what is wrong with them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from kschedweb.views.base import ACTING, AtQuery, Input, Moment, View, doc, number, text
from kschedweb.views.in_vain import InVain


class Refusal(View):
    """Why a request was refused. `code` is stable, `message` is for people."""

    code: str
    message: str
    extra: Mapping[str, Any]


class ObjectsCreated(View):
    """What became of uploaded objects."""

    kinds: Annotated[Mapping[str, Mapping[str, int]], doc("counts by kind and by what became of the objects")]
    not_understood: Annotated[Mapping[str, int], doc("objects left out, by kind")]
    rv: int


class ClusterObject(View):
    """An object with its manifest."""

    rv: int
    manifest: Any


class ClusterObjectDetail(ClusterObject):
    """An object with its manifest and what it waits for."""

    in_vain: Annotated[Sequence[InVain], doc("what it waits for though no controller acts; empty unless frozen")]


class ObjectList(View):
    """Objects of a kind, by namespace and name."""

    rv: Annotated[int, doc("where the change log ended; of the present, when reading began")]
    seq: Annotated[int, doc("where the engine log ended then")]
    at: Annotated[Moment, doc("the time then by the cluster's clock")]
    objects: Sequence[ClusterObject]
    after: Annotated[str | None, doc("null: the answer is complete; else pass it to continue")]


class ObjectQuery(AtQuery, kw_only=True):
    """Which objects."""

    kind: Annotated[str, text(63, "Pod, Node, ReplicaSet, …")]
    namespace: Annotated[str, text(63, "only in this one")] | UnsetType = UNSET
    after: Annotated[str, text(320, "continue after this one, namespace/name")] | UnsetType = UNSET
    limit: Annotated[int, number(1, 1000)] = 200


class RefusedObject(View, kw_only=True):
    """An object that was not taken, or a document, row or file that cannot be read and has no `object`.

    Counts start at 1; what does not apply is absent.
    """

    message: str
    file: str
    document: int | UnsetType = UNSET
    item: int | UnsetType = UNSET
    line: int | UnsetType = UNSET
    object: str
    field: str
    detail: str


class ImportedFile(View):
    """What a file of an import was taken for."""

    name: str
    format: str
    bytes: int
    documents: int
    objects: int


class Demand(View):
    """What the pods request of a resource, and what the nodes have."""

    demand: int
    capacity: int


class LeftOut(View):
    """Objects of a kind that are left out, and why."""

    api_version: str
    kind: str
    count: int
    reason: Annotated[
        Literal["unknown_version", "unknown_kind", "configuration", "not_read", "confidential"],
        doc("not_read: a kind of Kubernetes that the scheduler does not read"),
    ]
    read_as: Annotated[str, doc("the apiVersion in which this kind is read, of unknown versions; else empty")]
    at: Annotated[Sequence[str], doc("where in the upload the first ones stand")] = ()


class ImportReport(View):
    """What became of the files of an import."""

    files: Sequence[ImportedFile]
    kinds: Annotated[Mapping[str, Mapping[str, int]], doc("counts by kind and by what became of the objects")]
    kept: Annotated[int, doc("objects stored as they were given")]
    admitted: Annotated[int, doc("objects that went through admission")]
    not_understood: Annotated[Mapping[str, int], doc("objects left out, by kind")]
    refused: Sequence[RefusedObject]
    refused_total: int
    resources: Mapping[str, Demand]
    notes: Annotated[Sequence[str], doc("what the numbers mean, in sentences")]
    rv: int
    seconds: float
    left_out: Annotated[Sequence[LeftOut], doc("what not_understood counts, with the reasons")] = ()
    passed_over: Annotated[
        Mapping[str, int],
        doc("files: in archives, that are named as no manifest; logs: of containers, in what cluster-info dump prints"),
    ] = msgspec.field(default_factory=dict)
    in_vain: Annotated[
        Sequence[InVain], doc("what in the cluster waits though no controller acts; empty unless frozen")
    ] = ()


class Import(View):
    """An import and how far it is."""

    id: UUID
    status: Literal["queued", "running", "done", "failed"]
    filename: str
    report: ImportReport | None
    error: Refusal | None
    created_at: Moment
    finished_at: Moment | None


class ImportOptions(Input):
    """How files are imported: parameters of the query, or fields of a form, which count more."""

    replace: Annotated[bool, doc("delete what the cluster has and the files do not")] = False
    partial: Annotated[bool, doc("take what can be read and taken, and name the rest")] = False
    admission: Annotated[
        Literal["auto", "always", "never"],
        doc("auto: for objects that come from no cluster, having no uid and creationTimestamp"),
    ] = "auto"
    lifecycle: Annotated[
        Literal["", "frozen", "simulate"], doc(f"the cluster's from now on; empty: as it is; {ACTING}")
    ] = ""
    filename: Annotated[str, doc("names a raw body in messages")] | UnsetType = UNSET
