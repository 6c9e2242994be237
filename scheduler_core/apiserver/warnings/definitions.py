"""What clients are told of a definition of which something is kept without effect."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.admission.custom.rules import unread_rules
from scheduler_core.api.custom import is_custom_group
from scheduler_core.apiserver.store import Stored


def definition_warnings(new: Stored, old: Stored | None) -> Iterator[str]:
    """Of conversions by webhooks, groups of the API server itself, and rules that nobody evaluates."""
    spec = new["spec"]
    if not is_custom_group(spec["group"]):
        yield f"spec.group: {spec['group']} is a group of the API server itself: objects of this kind are not served"
    if (spec.get("conversion") or {}).get("strategy") == "Webhook":
        yield (
            "spec.conversion: kept, and no webhook is called: objects are shown in every version as they are stored,"
            " with another apiVersion"
        )
    rules: dict[str, None] = {}
    for version in spec["versions"] or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        rules |= dict.fromkeys(unread_rules(schema) if schema is not None else ())
    for rule in rules:
        yield f"x-kubernetes-validations: this rule is kept, and not evaluated here: {rule.strip()}"
