"""Quotas that do not let pods be created: what each would have to allow."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from scheduler_core.admission.quota_usage import usage_of
from scheduler_core.admission.quotas import concerns
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.explain.fits.changes import Change, Kind

Manifest = dict[str, Any]


def enlarged(quotas: Sequence[Manifest], pods: Sequence[Manifest]) -> tuple[Change, ...]:
    """The quotas of the pods' namespace that have to be larger if all these are to be created, each by what is lacking.

    As admission counts them: those that have been counted, by what their status says.
    """
    return tuple(change for quota in quotas for change in _enlarged(quota, pods))


def _enlarged(quota: Manifest, pods: Sequence[Manifest]) -> list[Change]:
    status = quota.get("status") or {}
    used = {name: parse(text) for name, text in (status.get("used") or {}).items()}
    wanted: dict[str, Quantity] = {}
    for pod in pods:
        if concerns(quota, pod):
            for name, quantity in usage_of(pod).items():
                if not quantity.is_zero:
                    wanted[name] = wanted.get(name, Quantity.of(0)) + quantity
    found = []
    for name, text in sorted((status.get("hard") or {}).items()):
        if name not in wanted or name not in used:
            continue
        needed, hard = used[name] + wanted[name], parse(text)
        if needed > hard:
            change = Change(
                Kind.QUOTA,
                f"spec.hard.{name}",
                text,
                str(needed),
                lambda world: world,
                share=_share(needed, hard),
                of=f"ResourceQuota/{quota['metadata']['name']}",
            )
            found.append(change)
    return found


def _share(needed: Quantity, hard: Quantity) -> Fraction:
    """How much more it is, at most as much again."""
    if hard.is_zero:
        return Fraction(1)
    return min(Fraction((needed - hard).nano, hard.nano), Fraction(1))
