"""What the signature of a pod tells apart, and what it does not."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from scheduler_core.api.pod import (
    ContainerStatus,
    ContainerStatusResources,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
)
from scheduler_core.api.quantity import parse
from scheduler_core.api.signature import claim_names, signature
from tests.builders import make_pod
from tests.cases import cases

replace = msgspec.structs.replace
PLAIN = make_pod("web-1").label(app="web").req(cpu="1").build()


def _with_meta(**changes: object) -> Pod:
    return replace(PLAIN, metadata=replace(PLAIN.metadata, **changes))


@cases(
    "twin",
    ("name", _with_meta(name="web-2")),
    ("uid", _with_meta(uid="another")),
    ("stamps", _with_meta(resource_version="77", annotations={"a": "b"})),
    ("node-name", PLAIN.on_node("n1")),
    ("nomination", replace(PLAIN, status=replace(PLAIN.status, nominated_node_name="n1"))),
)
def test_signature_is_shared_when_only_names_differ(twin: Pod) -> None:
    assert signature(twin) == signature(PLAIN)


HELD = ContainerStatus(name="c", resources=ContainerStatusResources(requests={"cpu": parse("3")}))


@cases(
    "other",
    ("namespace", _with_meta(namespace="elsewhere")),
    ("labels", _with_meta(labels={"app": "db"})),
    ("terminating", _with_meta(deletion_timestamp=datetime.now(UTC))),
    ("requests", make_pod("web-1").label(app="web").req(cpu="2").build()),
    ("resized", replace(PLAIN, status=replace(PLAIN.status, container_statuses=(HELD,)))),
)
def test_signature_differs_when_a_rule_could_tell(other: Pod) -> None:
    assert signature(other) != signature(PLAIN)


def with_claim(name: str, recorded: str | None = None) -> Pod:
    claims = (PodResourceClaim("gpu", name if recorded is None else None, None if recorded is None else name),)
    told = (PodResourceClaimStatus("gpu", recorded),) if recorded is not None else None
    spec, status = replace(PLAIN.spec, resource_claims=claims), replace(PLAIN.status, resource_claim_statuses=told)
    return replace(PLAIN, spec=spec, status=status)


@cases(
    "other",
    ("named", with_claim("second")),
    ("generated", with_claim("template", "web-1-gpu-abcde")),
)
def test_signature_is_shared_when_only_claims_have_other_names(other: Pod) -> None:
    """Each claim of a template has its own; who waits for which one is told by the names."""
    first = with_claim("first")
    assert signature(other) == signature(first) != signature(PLAIN)
    assert claim_names(other) != claim_names(first)
