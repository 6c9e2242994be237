"""Resource quotas in requests: which are asked before something is made or grows, and how they are counted.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota and pkg/quota/v1/generic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from scheduler_core.admission import quotas as rules
from scheduler_core.api.custom import is_custom
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.custom.serving import Customs, counts_custom
from scheduler_core.apiserver.kinds import Kind
from scheduler_core.apiserver.requests import Apply, CountQuota, Create, ObjectKey, Patch, Request, Update
from scheduler_core.apiserver.store import ObjectChange, Operation, Store, Stored, key_of
from scheduler_core.errors import AdmissionError


def concerned(store: Store, named: Sequence[tuple[Request, str, ObjectKey]]) -> dict[str, list[ObjectKey]]:
    """The quotas by namespace of everything that may take more of them."""
    namespaces = {key.namespace for request, _, key in named if _counts(request, key)}
    if not namespaces:
        return {}
    only = next(iter(namespaces)) if len(namespaces) == 1 else ""
    found: dict[str, list[ObjectKey]] = {}
    for quota in map(key_of, store.list("ResourceQuota", namespace=only)):
        if quota.namespace in namespaces:
            found.setdefault(quota.namespace, []).append(quota)
    return found


def charged(
    outcome: Outcome, quotas: Sequence[Stored], old: Stored | None, request: Request, of: Kind | None
) -> Outcome | Refused:
    """The outcome, with what it takes of quotas before it; or the refusal of one that would be exceeded.

    `of`: the kind, where the cluster defines it.
    """
    if not quotas or not outcome.changes or outcome.changes[-1].operation == Operation.DELETED:
        return outcome
    new = outcome.changes[-1].manifest
    subresource = request.subresource if isinstance(request, (Update, Patch, Apply)) else ""
    try:
        if of is None:
            changed = rules.charged(quotas, new, old, subresource)
        else:
            changed = rules.charged_one(quotas, f"count/{of.resource}") if old is None else []
    except AdmissionError as error:
        return answers.invalid(key_of(new), error, of=of)
    first = tuple(ObjectChange(Operation.UPDATED, quota) for quota in changed)
    return msgspec.structs.replace(outcome, changes=(*first, *outcome.changes))


def counted(
    store: Store, objects: Mapping[ObjectKey, Stored | None], request: CountQuota, customs: Customs
) -> Outcome | Refused:
    """The quota with what its namespace uses, after the requests before this one."""
    quota = objects.get(request.key)
    if quota is None or (request.uid and request.uid != quota["metadata"]["uid"]):
        return answers.not_found(request.key)
    of_cluster = customs.counted_names(quota["spec"].get("hard") or {})
    kinds, namespace = [*rules.counted_kinds(quota), *of_cluster.values()], request.key.namespace
    listed = store.list(*kinds, namespace=namespace) if kinds else ()
    there: dict[ObjectKey, Stored | None] = {key_of(one): one for one in listed}
    there |= {key: one for key, one in objects.items() if key.kind in kinds and key.namespace == namespace}
    numbers = Counter(key.kind for key, one in there.items() if one is not None)
    counts = {name: 0 for name in (quota.get("status") or {}).get("used") or {} if counts_custom(name)}  # may be gone
    counts |= {name: numbers[kind] for name, kind in of_cluster.items()}
    new = rules.counted(
        quota, [one for key, one in there.items() if one is not None and not is_custom(key.kind)], counts
    )
    return Outcome((ObjectChange(Operation.UPDATED, new),) if new is not quota else (), new)


def _counts(request: Request, key: ObjectKey) -> bool:
    """Whether quotas may count what the request does; patches of metadata alone are the scheduler's, and many."""
    if isinstance(request, Create) or (isinstance(request, Apply) and not request.subresource):
        return bool(key.namespace) and rules.counts_creation(key.kind)
    if isinstance(request, Patch) and isinstance(request.body, Mapping) and "spec" not in request.body:
        return False
    return isinstance(request, (Update, Patch, Apply)) and rules.counts_change(key.kind, request.subresource)
