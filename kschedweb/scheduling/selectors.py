"""Reads of the scheduler's work: a pod's history with what became of its bindings and, of a victim, its evictions."""

from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.traces.selectors import HistoryEntry, pod_log


def pod_history(cluster_id: int, uid: str, limit: int) -> list[HistoryEntry]:
    """The newest entries about a pod, oldest first: the engine's log and the work it ordered."""
    entries = pod_log(cluster_id, uid, limit)
    for binding in Binding.objects.filter(cluster_id=cluster_id, pod_uid=uid).order_by("-id")[:limit]:
        entries.append(
            HistoryEntry(
                kind="binding",
                what=binding.status,
                at=binding.finished_at or binding.created_at,
                attempts=binding.attempt,
                node=binding.node_name,
                message=binding.message,
            )
        )
    for eviction in Eviction.objects.filter(cluster_id=cluster_id, pod_uid=uid).order_by("-id")[:limit]:
        entries.append(
            HistoryEntry(
                kind="eviction",
                what=eviction.status,
                at=eviction.finished_at or eviction.created_at,
                node=eviction.node_name,
                message=eviction.message,
            )
        )
    # Entries of one step have one time: the log's order holds among them, and work comes after what ordered it.
    entries.sort(key=lambda entry: (entry.at, entry.seq if entry.seq is not None else 2**63))
    return entries[-limit:]
