"""The cards that Otter Post's GPU nodes offer by claim: two of one model each; a class, and templates of claims."""

from __future__ import annotations

import json
from typing import Any, Final

from scheduler_core.controllers.device_annotation import DEVICES

CARD_DRIVER: Final = "cards.otterpost.example"
CARD_CLASS: Final = "vision-card"
HERON, OSPREY = "heron", "osprey"
ONE_HERON, TWO_OSPREYS = "one-heron", "two-ospreys"
_NAMESPACE: Final = "ml-lab"


def cards(model: str) -> dict[str, str]:
    """Return the annotation of a node with two cards of this model."""
    memory = {HERON: "24Gi", OSPREY: "48Gi"}[model]
    group = {"count": 2, "name": "card", "attributes": {"model": model}, "capacity": {"memory": memory}}
    return {DEVICES: json.dumps([{"driver": CARD_DRIVER, "devices": [group]}])}


def devices() -> list[dict[str, Any]]:
    """Return the class of all cards, and what pods claim of it."""
    expression = f'device.driver == "{CARD_DRIVER}"'
    card_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": CARD_CLASS},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    return [card_class, _template(ONE_HERON, HERON, 1), _template(TWO_OSPREYS, OSPREY, 2)]


def _template(name: str, model: str, count: int) -> dict[str, Any]:
    expression = f'device.attributes["{CARD_DRIVER}"].model == "{model}"'
    exactly = {
        "deviceClassName": CARD_CLASS,
        "count": count,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"namespace": _NAMESPACE, "name": name},
        "spec": {"spec": {"devices": {"requests": [{"name": "cards", "exactly": exactly}]}}},
    }
