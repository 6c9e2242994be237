"""Recorded scenarios in which the rules do not answer as the real API server, by the reason why."""

from typing import Final

_REASONS: Final = {
    "needs content negotiation": """
        list/partial-a table/options-a
    """,
    "is answered by a kubelet": """
        subresource/log-exec-a
    """,
    "needs time to pass": """
        watch/history-a watch/too-old-a
    """,
}

NOT_YET: Final = {name: reason for reason, names in _REASONS.items() for name in names.split()}
