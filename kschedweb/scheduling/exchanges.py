"""What an extender said to a binding that came later than its attempt, as the entry of its step keeps it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from scheduler_core.model.effects import ExtenderExchange


def exchange_payload(pod_uid: str, exchange: ExtenderExchange) -> dict[str, Any]:
    """As a value of JSON."""
    return {
        "uid": pod_uid,
        "extender": exchange.extender,
        "point": exchange.point,
        "request": exchange.request_digest.hex(),
        "answer": None if exchange.answer is None else b64encode(exchange.answer).decode(),
        "error": exchange.error,
    }


def exchange_of(told: Mapping[str, Any]) -> ExtenderExchange:
    """What that says."""
    answer = told["answer"]
    return ExtenderExchange(
        extender=told["extender"],
        point=told["point"],
        request_digest=bytes.fromhex(told["request"]),
        answer=None if answer is None else b64decode(answer),
        error=told["error"],
    )
