"""Recorded scenarios in which the rules do not answer as the real API server, by the reason why."""

from typing import Final

_REASONS: Final = {
    "the message quotes managedFields, which are not kept": """
        patch/merge-wrong-type strict/modes-a subresource/scale-0 subresource/scale-2
    """,
    "needs content negotiation": """
        list/partial-a table/options-a
    """,
    "is answered by a kubelet": """
        subresource/log-exec-a
    """,
    "depends on the day": """
        table/pod-restarted
    """,
    "CEL expressions are not compiled": """
        update/deviceclass validation/dra-a01 validation/dra-a03
    """,
    "not written yet": """
        admission/priority-builtin-a admission/limitrange-a admission/quota-a admission/priority-global-a
        create/services-headless-noports events/views-a list/paging-a namespaces/misc-a patch/smp-wrong-type
        subresource/node-status-a subresource/status-resourceclaims subresource/resize-a
        update/claimtemplate validation/storage-a00 validation/dra-a02 watch/history-a
        watch/errors-a watch/too-old-a watch/terminating-a
    """,
}

NOT_YET: Final = {name: reason for reason, names in _REASONS.items() for name in names.split()}
