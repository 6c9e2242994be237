"""Writes of the cluster app, one module for each noun; every one of them is a transaction ended by the change log."""

from kschedweb.cluster.changes import ChangeEntry, changes_commit

__all__ = ["ChangeEntry", "changes_commit"]
