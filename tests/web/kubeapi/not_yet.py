"""Recorded scenarios in which the service does not answer as the real API server, by the reason why.

What the rules do not answer yet (`tests/core/apiserver/not_yet.py`) the service does not either, unless the shell does.
"""

from typing import Final

from tests.core.apiserver.not_yet import NOT_YET as OF_THE_RULES

_REASONS: Final = {
    "the root's text quotes hashes of upstream's own documents": """
        openapi/root-a
    """
}
# What is media types, parts of pods that kubelets answer, or the real clock.
_OF_THE_SHELL: Final = frozenset(
    {"list/partial-a", "subresource/log-exec-a", "table/options-a", "watch/history-a", "watch/too-old-a"}
)

NOT_YET: Final = {name: reason for reason, names in _REASONS.items() for name in names.split()} | {
    name: reason for name, reason in OF_THE_RULES.items() if name not in _OF_THE_SHELL
}
