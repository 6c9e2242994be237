"""What every cluster has from its start."""

from __future__ import annotations

import base64
import hashlib

from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.bootstrap import NOBODYS_CERTIFICATE, bootstrap_requests
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.server import ApiServer

NOW = 1_893_456_000_000_000
PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1  # of the curve P-256
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


def test_the_api_server_takes_all_of_it() -> None:
    numbers = iter(range(1, 100))
    store = MemoryStore()
    server = ApiServer(store, lambda: f"00000000-0000-0000-0000-{next(numbers):012d}")
    for answer in server.carry_out(bootstrap_requests(NOW), NOW):
        assert isinstance(answer, Outcome), answer
    tracking = store.get(ObjectKey("ConfigMap", "kube-system", "kube-apiserver-legacy-service-account-token-tracking"))
    assert tracking is not None and tracking["data"] == {"since": "2030-01-01"}
    trust = store.get(ObjectKey("ConfigMap", "kube-system", "extension-apiserver-authentication"))
    assert trust is not None and trust["data"]["client-ca-file"].startswith("-----BEGIN CERTIFICATE-----\n")


def test_nobody_has_the_key_of_the_certificate_that_programs_trust() -> None:
    first, *lines, last = NOBODYS_CERTIFICATE.splitlines()
    content = base64.b64decode("".join(lines), validate=True)
    x = int.from_bytes(hashlib.sha256(b"kschedweb simulated cluster 0").digest(), "big")
    y = pow(x**3 - 3 * x + B, (PRIME + 1) // 4, PRIME)
    y = y if y % 2 == 0 else PRIME - y
    assert (y * y - x**3 + 3 * x - B) % PRIME == 0
    assert b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big") in content
    assert (first, last) == ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
