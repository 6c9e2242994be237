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
    "a patch that changes nothing is a write, because managedFields change": """
        subresource/resize-a
    """,
    "needs time to pass": """
        watch/history-a watch/too-old-a
    """,
}

NOT_YET: Final = {name: reason for reason, names in _REASONS.items() for name in names.split()}
