"""Objects put into a cluster, one or a hundred thousand: checked, admitted, matched with what is there, logged.

An object with a uid and a creationTimestamp comes from a cluster and is kept as it is; others go through what the API
server does to a creation. What is there is matched by uid, else by namespace and name:

  equal                                   unchanged, no log entry
  same uid                                updated in place
  another uid, or a pod that leaves its node, or one that no update makes so
                                          replaced: deleted and created, for the engine knows pods by uid and a pod
                                          never changes its node
Objects without a uid of their own are updates of their namesake, by the rules of the API server; its uid, status,
finalizers, owners, node and volume stay unless they are given.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson
from django.db import IntegrityError, transaction

from kschedweb.cluster import adapters, clock, state
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place, Refusals, UploadInvalidError
from kschedweb.cluster.services import given, identity, left_out
from kschedweb.cluster.services.customs import Customs
from kschedweb.cluster.state import Draft, Key, Rewrite, Stored
from kschedweb.common import wake
from kschedweb.common.errors import ConflictError
from kschedweb.common.packing import kept_json
from scheduler_core.api.custom import DEFINITION, is_custom
from scheduler_core.api.times import microseconds, time_text

# More objects than this are matched against the whole cluster instead of by name.
_MATCH_BY_NAME = 500


@dataclass(frozen=True, slots=True)
class PutOptions:
    """`replace` deletes what is not named; `partial` passes over refused objects; `create` refuses existing ones."""

    admission: str = given.AUTO
    replace: bool = False
    partial: bool = False
    create: bool = False


@dataclass(slots=True)
class PutReport:
    """What became of the objects; `kinds` counts created, updated, unchanged, deleted and refused ones."""

    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    kept: int = 0
    admitted: int = 0
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)  # by apiVersion and kind
    left_out_at: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # where the first of each stand
    refused: Refusals = field(default_factory=Refusals)
    rv: int = 0

    @property
    def not_understood(self) -> dict[str, int]:
        """What is left out, by kind; with the apiVersion where the kind is read in another one."""
        found: Counter[str] = Counter()
        for (api_version, kind), count in sorted(self.left_out.items()):
            found[f"{api_version} {kind}" if adapters.is_read(kind) else kind] += count
        return dict(sorted(found.items()))

    def count(self, kind: str, outcome: str) -> None:
        self.kinds.setdefault(kind, Counter())[outcome] += 1


@dataclass(slots=True)
class _Plan:
    """Writes in the making; entries, which bring new and changed rows, are in the order of the log."""

    deletes: list[Stored] = field(default_factory=list)
    entries: list[ChangeEntry] = field(default_factory=list)


def objects_put(*, cluster_id: int, items: Sequence[Item], options: PutOptions, actor: str) -> PutReport:
    """Put the objects in one transaction and wake the scheduler; all or nothing unless `partial`."""
    with transaction.atomic():
        report = objects_put_in_transaction(
            cluster_id=cluster_id, items=items, options=options, actor=actor, now=clock.now_of(cluster_id)
        )
        wake.once_after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return report


def objects_put_in_transaction(
    *,
    cluster_id: int,
    items: Sequence[Item],
    options: PutOptions,
    actor: str,
    now: int,
    refused: Refusals | None = None,
) -> PutReport:
    """Like `objects_put`, inside the caller's transaction. Must be its last statement except for writes to the
    caller's own tables. Empties the items. `refused`: what could not be read of the upload they came with.
    """
    report = PutReport(refused=refused or Refusals())
    customs = Customs(cluster_id, items, choice=options.admission, is_alone=options.replace, now=now)
    understood = _understood(items, customs, report)
    prepared = _prepared(understood, customs, options, report)
    there = _Existing(_existing(cluster_id, prepared, options))
    admission = adapters.Admission(row.manifest for row in there.rows if row.kind in adapters.ADMISSION_KINDS)
    if any(item.kind == "Service" for item in prepared):
        services = state.stored_of_kinds(cluster_id, ("Service",))
        admission.allocate = adapters.Addresses((row.manifest for row in services), takes_all=True).allocate
    plan, allocate = _Plan(), admission.allocate
    for item in prepared:
        admission.allocate = allocate
        try:
            _place_one(item, there, admission, customs, options, report, plan, actor, now)
        except adapters.REFUSALS as error:
            _refuse(item, error.path, error.detail, options, report)
        except ConflictError as error:
            if not options.partial:
                raise
            _refuse(item, "metadata.name", error.message, options, report)
        item.manifest = {}  # the plan has what is written: the largest imports are in memory once, as text
    if options.replace:
        _delete_rest(there, report, plan, actor)
    state.delete(plan.deletes)
    try:
        report.rv = changes_commit(cluster_id=cluster_id, entries=plan.entries, now=now)
    except IntegrityError as error:
        raise ConflictError("another request made one of these objects at the same moment") from error
    return report


def _understood(items: Sequence[Item], customs: Customs, report: PutReport) -> list[Item]:
    """The objects of kinds that are read or defined, those that others depend on first; the rest is counted."""
    found: list[Item] = []
    for item in items:
        why = adapters.why_left_out(item.api_version, item.kind)
        if why is None:
            found.append(item)
        elif why is adapters.LeftOut.UNKNOWN_KIND and (kind := customs.kind_of(item)):
            item.kind = kind
            found.append(item)
        else:
            key = (item.api_version, item.kind)
            report.left_out[key] += 1
            if report.left_out[key] <= left_out.MOST_PLACES:
                report.left_out_at.setdefault(key, []).append(str(item.place))
    if not found:
        place = Place(items[0].place.file) if items else Place("upload")
        only = "; ".join(left_out.sentences(left_out.kinds(report.left_out)))
        detail = f"holds no object of a kind that is understood; {only or 'it is empty'}"
        report.refused.add(UploadInvalidError(place, "", "", detail))
        report.refused.check()
    return sorted(found, key=lambda item: adapters.put_order(item.kind))


def _prepared(items: Iterable[Item], customs: Customs, options: PutOptions, report: PutReport) -> list[Item]:
    """Items with sound identities: a name, a namespace where there is one, nothing twice."""
    prepared: list[Item] = []
    seen: dict[Key, _Seen] = {}
    uids: dict[str, Place] = {}
    for item in items:
        version = identity.resource_version(item)
        try:
            key, uid = identity.identify(item, namespaced=customs.is_namespaced(item))
        except adapters.ManifestError as error:
            _refuse(item, error.path, error.detail, options, report)
            continue
        first = seen.get(key)
        if first is not None and uid and first.uid == uid and first.is_repeated(prepared, item, version):
            report.count(item.kind, "repeated")
            continue
        if first is not None:
            _refuse(item, "metadata.name", f"the name stands twice, first at {first.place}", options, report)
            continue
        if uid and uids.setdefault(uid, item.place) is not item.place:
            _refuse(item, "metadata.uid", f"the uid stands twice, first at {uids[uid]}", options, report)
            continue
        seen[key] = _Seen(item.place, uid, version, len(prepared))
        prepared.append(item)
    return prepared


@dataclass(slots=True)
class _Seen:
    """An object that was prepared: where it stands in the upload and among those prepared, and which version it is."""

    place: Place
    uid: str
    version: int
    index: int

    def is_repeated(self, prepared: list[Item], item: Item, version: int) -> bool:
        """Whether an item of the same name and uid is the same object, seen once more; the newer one stays.

        Dumps of a whole cluster have pods in a list and each in a file of its own, read at another moment.
        """
        if not (self.version and version) and prepared[self.index].manifest != item.manifest:
            return False
        if version > self.version:
            prepared[self.index], self.version = item, version
        return True


class _Existing:
    """What is in the cluster, by key and by uid; rows that were matched are not deleted by `replace`."""

    def __init__(self, rows: list[Stored]) -> None:
        self.rows = rows
        self.by_key = {row.key: row for row in rows}
        self.by_uid = {(_table(row.kind), row.uid): row for row in rows}
        self.matched: set[int | tuple[str, int]] = set()

    def match(self, key: Key, uid: str) -> tuple[Stored | None, Stored | None]:
        """(the namesake, another row with the same uid)."""
        namesake = self.by_key.get(key)
        twin = self.by_uid.get((_table(key[0]), uid)) if uid else None
        for row in (namesake, twin):
            if row is not None:
                self.matched.add((_table(row.kind), row.pk))
        return namesake, twin if twin is not namesake else None

    def drop(self, row: Stored) -> None:
        """The row will be deleted: nothing matches it any more."""
        self.by_key.pop(row.key, None)
        self.by_uid.pop((_table(row.kind), row.uid), None)

    def rest(self) -> list[Stored]:
        return [row for row in self.rows if (_table(row.kind), row.pk) not in self.matched]


def _table(kind: str) -> str:
    return kind if kind in ("Node", "Pod") else ""


def _existing(cluster_id: int, items: Sequence[Item], options: PutOptions) -> list[Stored]:
    if options.replace or len(items) > _MATCH_BY_NAME:
        return list(state.stored(cluster_id))
    names = {item.manifest["metadata"]["name"] for item in items}
    uids = {uid for item in items if (uid := item.manifest["metadata"].get("uid"))}
    rows = list(state.stored(cluster_id, names=names, uids=uids))
    known = {(row.kind, row.pk) for row in rows}
    context = state.stored_of_kinds(cluster_id, adapters.ADMISSION_KINDS)
    return rows + [row for row in context if (row.kind, row.pk) not in known]


def _place_one(
    item: Item,
    there: _Existing,
    admission: adapters.Admission,
    customs: Customs,
    options: PutOptions,
    report: PutReport,
    plan: _Plan,
    actor: str,
    now: int,
) -> None:
    admit = given.is_admitted(item, options.admission)
    metadata = item.manifest["metadata"]
    key: Key = (item.kind, metadata.get("namespace", ""), metadata["name"])
    namesake, twin = there.match(key, metadata.get("uid", ""))
    if options.create and namesake is not None:
        raise ConflictError(f'{item.kind} "{metadata["name"]}" already exists', kind=item.kind, name=metadata["name"])
    has_own_uid = "uid" in metadata
    old = namesake.manifest["metadata"] if namesake is not None and not has_own_uid else {}
    metadata["uid"] = metadata.get("uid") or old.get("uid") or str(uuid.uuid4())
    if admit and item.kind == "Pod" and namesake is None:
        new = _new_pod(item, admission, now)
    elif is_custom(item.kind):
        manifest = customs.made(item, None if has_own_uid else namesake, is_admitted=admit)
        new = state.draft(item.kind, manifest, adapters.decode(manifest, kind=item.kind))
    else:
        if admit:
            created_at = microseconds(datetime.fromisoformat(old["creationTimestamp"])) if old else now
            allocate, admission.allocate = admission.allocate, None if old else admission.allocate
            manifest = admission.create(item.manifest, metadata["uid"], created_at)
            admission.allocate = allocate  # a service that is there keeps its addresses in the update
        else:
            metadata.setdefault("creationTimestamp", time_text(now))
            manifest = admission.check(item.manifest)
        if namesake is not None and not has_own_uid:
            manifest = given.laid_over(manifest, item.manifest, namesake, admission, now)
        if item.kind == DEFINITION:
            manifest = customs.defined(manifest, is_admitted=admit)
        obj = adapters.decode(manifest)
        admission.remember(obj)
        new = state.draft(item.kind, manifest, obj)
    report.count(item.kind, _settle(new, namesake, twin, there, plan, actor))
    if admit:
        report.admitted += 1
    else:
        report.kept += 1


def _new_pod(item: Item, admission: adapters.Admission, now: int) -> Draft:
    """An admitted pod; of many that are alike only the first takes the whole way."""
    metadata = item.manifest["metadata"]
    alike = admission.alike(item.manifest, now)
    made = alike.made(name=metadata["name"], uid=metadata["uid"]) if alike is not None else None
    if made is not None:
        text, columns = made
        return Draft("Pod", metadata["namespace"], metadata["name"], metadata["uid"], text, columns)
    manifest = admission.create(item.manifest, metadata["uid"], now)
    new = state.draft("Pod", manifest, adapters.decode(manifest))
    if alike is not None:
        alike.keep(new.text, new.columns)
    return new


def _settle(new: Draft, namesake: Stored | None, twin: Stored | None, there: _Existing, plan: _Plan, actor: str) -> str:
    """Plan the writes that make the object so; the outcome's name."""
    if twin is not None:
        there.drop(twin)
        plan.deletes.append(twin)
        plan.entries.append(_entry(twin, Operation.DELETED, actor))
    if namesake is None:
        plan.entries.append(_entry(new, Operation.CREATED, actor, new))
        return "created" if twin is None else "updated"
    if namesake.manifest == orjson.loads(new.text):
        return "unchanged"
    if namesake.uid == new.uid and namesake.node_name in ("", new.columns.get("node_name", "")):
        plan.entries.append(_entry(new, Operation.UPDATED, actor, Rewrite(namesake.pk, new.kind, new.columns)))
        return "updated"
    there.drop(namesake)
    plan.deletes.append(namesake)
    plan.entries += [_entry(namesake, Operation.DELETED, actor), _entry(new, Operation.CREATED, actor, new)]
    return "updated"


def _delete_rest(there: _Existing, report: PutReport, plan: _Plan, actor: str) -> None:
    for row in there.rest():
        plan.deletes.append(row)
        plan.entries.append(_entry(row, Operation.DELETED, actor))
        report.count(row.kind, "deleted")


def _refuse(item: Item, path: str, detail: str, options: PutOptions, report: PutReport) -> None:
    problem = UploadInvalidError(item.place, item.title, path, detail)
    if not options.partial:
        raise problem
    report.count(item.kind, "refused")
    report.refused.add(problem)


def _entry(of: Stored | Draft, operation: Operation, actor: str, row: Draft | Rewrite | None = None) -> ChangeEntry:
    text = of.text if isinstance(of, Draft) else kept_json(of.manifest)
    return ChangeEntry(of.kind, of.namespace, of.name, of.uid, operation, text, actor, row)
