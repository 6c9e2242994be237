"""Resource quotas: a request that would exceed one is refused, any other is charged to the quota's status at once.

Quotas count what their status says, which a controller has written (`counted`); one whose status is still empty limits
nothing. What goes is taken off by that controller too. Source: kubernetes v1.34.1,
staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from scheduler_core.admission.context import Manifest, refused
from scheduler_core.admission.defaults.pods import containers_of
from scheduler_core.admission.quota_usage import (
    is_bounded_in_time,
    is_in_scope,
    names_for,
    names_of_container,
    usage_of,
)
from scheduler_core.api.manifests import CLASSES
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.api.resources import is_pod_level

# Of these every container has to say what it needs, once a quota limits them.
_DEMANDED: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)  # fmt: skip
_NOT_COUNTED: Final = frozenset({"Event"})
_CHANGE_COUNTS: Final = frozenset({"Service", "PersistentVolumeClaim", "ResourceClaim"})
_ZERO: Final = Quantity.of(0)
_ONE: Final = Quantity.of(1)


def counts_creation(kind: str) -> bool:
    """Whether new objects of a namespaced kind are counted."""
    return kind not in _NOT_COUNTED


def counts_change(kind: str, subresource: str) -> bool:
    """Whether a change of an object of the kind can need more than it did."""
    if kind == "Pod":
        return subresource in ("", "resize")
    return kind in _CHANGE_COUNTS and not subresource


def charged(quotas: Sequence[Manifest], new: Manifest, old: Manifest | None, subresource: str = "") -> list[Manifest]:
    """The quotas of the namespace that change, charged with the new object or with its change from `old`.

    Raises AdmissionError (403) when one of them would be exceeded.
    """
    if (
        old is not None
        and not subresource
        and new["kind"] == "Pod"
        and is_bounded_in_time(new) == is_bounded_in_time(old)
    ):
        return []
    concerned = [quota for quota in sorted(quotas, key=_name) if concerns(quota, new)]
    for quota in concerned:
        _demand(quota, new)
    if not concerned:
        return []
    used = usage_of(new)
    more = used if old is None else _growth(used, usage_of(old))
    changed = []
    for quota in concerned:
        charge = _charge(quota, more if old is not None and concerns(quota, old) else used)
        if charge is not None:
            changed.append(charge)
    return changed


def charged_one(quotas: Sequence[Manifest], name: str) -> list[Manifest]:
    """The same of an object that counts under this name alone: scopes select none such."""
    found = [quota for quota in sorted(quotas, key=_name) if name in _hard(quota) and not _scopes(quota)]
    for quota in found:
        _know(quota, [name])
    charges = (_charge(quota, {name: _ONE}) for quota in found)
    return [charge for charge in charges if charge is not None]


def counted_kinds(quota: Manifest) -> list[str]:
    """The kinds whose objects a quota counts by what its spec limits."""
    hard = quota["spec"].get("hard") or {}
    return [kind for kind, cls in CLASSES.items() if cls.namespaced and names_for(kind, hard)]


def counted(quota: Manifest, objects: Iterable[Manifest], counts: Mapping[str, int] | None = None) -> Manifest:
    """The quota with what it limits, and how much of that the objects of its namespace use, in its status.

    It is the very quota when that is there already. `counts`: of objects of kinds that the cluster defines, by the
    names under which they count.
    """
    hard = quota["spec"].get("hard") or {}
    status = quota.get("status") or {}
    used = {name: parse(text) for name, text in (status.get("used") or {}).items() if name in hard}
    used |= {name: _ZERO for kind in counted_kinds(quota) for name in names_for(kind, hard)}
    scopes = _scopes(quota)
    used |= {name: Quantity.of(0 if scopes else number) for name, number in (counts or {}).items() if name in hard}
    for manifest in objects:
        if all(is_in_scope(scope, manifest) for scope in scopes):
            for name, quantity in usage_of(manifest).items():
                if name in hard:
                    used[name] += quantity
    if _parsed(status.get("hard") or {}) == _parsed(hard) and _parsed(status.get("used") or {}) == used:
        return quota
    told = {"hard": dict(hard), "used": {name: str(quantity) for name, quantity in sorted(used.items())}}
    return {**quota, "status": {name: value for name, value in told.items() if value}}


def _name(quota: Manifest) -> str:
    name: str = quota["metadata"]["name"]
    return name


def _hard(quota: Manifest) -> Mapping[str, str]:
    hard: Mapping[str, str] = (quota.get("status") or {}).get("hard") or {}
    return hard


def concerns(quota: Manifest, manifest: Manifest) -> bool:
    """Whether the quota limits something the object uses, and every scope holds for it."""
    names = names_for(manifest["kind"], _hard(quota))
    return bool(names) and all(is_in_scope(scope, manifest) for scope in _scopes(quota))


def _scopes(quota: Manifest) -> list[Mapping[str, Any]]:
    """What an object has to be for the quota to count it."""
    spec = quota["spec"]
    scopes: list[Mapping[str, Any]] = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return scopes


def _demand(quota: Manifest, manifest: Manifest) -> None:
    """What a quota has to know before it can count."""
    name = quota["metadata"]["name"]
    limited = names_for(manifest["kind"], _hard(quota))
    if manifest["kind"] == "Pod" and not _has_pod_level_resources(manifest["spec"]):
        missing: dict[str, set[str]] = {}
        for container in containers_of(manifest["spec"]):
            for resource in _DEMANDED.intersection(limited) - names_of_container(container):
                missing.setdefault(resource, set()).add(container["name"])
        if missing:
            told = [f"{resource} for: {','.join(sorted(names))}" for resource, names in sorted(missing.items())]
            raise refused("", f"failed quota: {name}: must specify {'; '.join(told)}")
    _know(quota, limited)


def _know(quota: Manifest, limited: Sequence[str]) -> None:
    """Its controller has to have counted what it limits."""
    if any(resource not in (quota["status"].get("used") or {}) for resource in limited):
        name = quota["metadata"]["name"]
        raise refused("", f"status unknown for quota: {name}, resources: {','.join(sorted(limited))}")


def _has_pod_level_resources(spec: Manifest) -> bool:
    resources = spec.get("resources") or {}
    return any(is_pod_level(name) for field in ("requests", "limits") for name in resources.get(field) or ())


def _growth(used: ResourceList, before: ResourceList) -> ResourceList:
    """What is used beyond `before`; nothing is given back."""
    growth = {name: quantity - before.get(name, _ZERO) for name, quantity in used.items()}
    return {name: quantity for name, quantity in growth.items() if quantity > _ZERO}


def _charge(quota: Manifest, more: ResourceList) -> Manifest | None:
    """The quota with so much more used, None when it counts nothing of that."""
    hard = _hard(quota)
    requested = {name: quantity for name, quantity in more.items() if name in hard and not quantity.is_zero}
    if not requested:
        return None
    used = {name: parse(text) for name, text in (quota["status"].get("used") or {}).items()}
    after = {**used, **{name: used.get(name, _ZERO) + quantity for name, quantity in requested.items()}}
    exceeded = sorted(name for name in requested if after[name] > parse(hard[name]))
    if exceeded:
        told = (
            f"{word}: {_listed(exceeded, values)}"
            for word, values in (("requested", requested), ("used", used), ("limited", _parsed(hard)))
        )
        raise refused("", f"exceeded quota: {quota['metadata']['name']}, {', '.join(told)}")
    status = {**quota["status"], "used": {name: str(quantity) for name, quantity in sorted(after.items())}}
    return {**quota, "status": status}


def _parsed(texts: Mapping[str, str]) -> ResourceList:
    return {name: parse(text) for name, text in texts.items()}


def _listed(names: Iterable[str], values: ResourceList) -> str:
    return ",".join(f"{name}={values[name]}" for name in names if name in values)
