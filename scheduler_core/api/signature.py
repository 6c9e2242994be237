"""The signature of a pod: everything the scheduler reads of it except its identity. Equal signatures: equivalent pods.

The signature covers namespace, labels, the controlling owner, the whole spec but its node name, whether the pod is
being deleted, and those parts of its status that count as requests. It says nothing of name, uid, annotations,
conditions, stamps, or the nominated node. Labels written in another order make another signature: less is shared then.
"""

from __future__ import annotations

import msgspec

from scheduler_core.api.derived import controller_of
from scheduler_core.api.pod import Pod

Signature = bytes

_encoder = msgspec.msgpack.Encoder(enc_hook=str)  # quantities as they were written


def signature(pod: Pod) -> Signature:
    """Equal for two pods only when no rule can tell them apart but by their names."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    if spec.node_name:
        spec = msgspec.structs.replace(spec, node_name="")
    owner = controller_of(pod) if meta.owner_references else None
    return _encoder.encode(
        (
            meta.namespace,
            meta.labels,
            spec,
            owner,
            meta.deletion_timestamp is not None,
            status.container_statuses,
            status.init_container_statuses,
            status.conditions if status.container_statuses or status.init_container_statuses else None,
            status.resource_claim_statuses,
            status.extended_resource_claim_status,
        )
    )
