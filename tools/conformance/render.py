"""An attempt of ours in the words of a recorded cycle, so that the two can be compared field by field.

Names instead of indices, lists sorted where the recording sorts them; a field the recording leaves out is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.framework.runtime import Framework
from scheduler_core.model.effects import Attempt, NominatedTry, PostFilterRecord, PreemptionRecord, ScoreRows
from scheduler_core.model.status import Status

Json = dict[str, Any]
_FILTER_FAILED: Final = re.compile(r'running "([A-Za-z]+)" filter plugin: ')


def cycle_of(attempt: Attempt) -> Json:
    """The cycle as it would have been recorded."""
    names = attempt.node_order.names if attempt.node_order is not None else ()
    feasible = [names[node] for node in attempt.feasible.tolist()] if attempt.feasible is not None else []
    cycle = not_run(attempt.pod_key, attempt.attempt, attempt.result, attempt.start_index)
    cycle |= {"evaluatedNodes": attempt.evaluated_nodes, "feasible": feasible, "endIndex": attempt.end_index}
    if attempt.pre_filter_status is not None:
        cycle["preFilter"] = _pre_filter(attempt, attempt.pre_filter_status)
    if attempt.nominated is not None:
        cycle["nominated"] = _nominated(attempt.nominated)
    if attempt.num_nodes_to_find:  # no node to look at is recorded as no search
        cycle["numNodesToFind"] = attempt.num_nodes_to_find
    if attempt.filter_rows is not None and len(attempt.filter_rows.nodes):
        rows = attempt.filter_rows
        verdicts = [["ok"], *([s.plugin, s.code.name, sorted(s.reasons)] for s in rows.statuses)]
        walked = zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True)
        cycle["filter"] = [[names[node], *verdicts[code]] for node, code in walked]
    if attempt.result == "error" and not attempt.node_name and _FILTER_FAILED.match(attempt.message):
        cycle |= _failed_filter(attempt, names, cycle.get("filter", []))
    if attempt.score_rows is not None:
        cycle["score"] = _score(attempt.score_rows, feasible)
    if attempt.tied is not None and len(feasible) > 1:
        cycle["tied"] = [names[node] for node in attempt.tied.tolist()]
    if attempt.result == "scheduled":
        cycle["node"] = attempt.node_name
    if attempt.result == "unschedulable":
        cycle["fitError"] = attempt.message
    if attempt.result in ("error", "noProfile"):
        cycle["error"] = attempt.message
    if attempt.unschedulable_plugins:
        cycle["unschedulablePlugins"] = sorted(attempt.unschedulable_plugins)
    if attempt.pending_plugins:
        cycle["pendingPlugins"] = sorted(attempt.pending_plugins)
    if attempt.post_filter is not None:
        cycle["postFilter"] = _post_filter(attempt.post_filter)
    return cycle


def _failed_filter(attempt: Attempt, names: Sequence[str], walked: list[Any]) -> Json:
    """The walk with the node whose filter failed, and what it had found before."""
    given = attempt.pre_filter_node_names
    nodes = names if given is None else [name for name in names if name in given]
    node = nodes[(attempt.start_index + len(walked)) % len(nodes)]
    found = _FILTER_FAILED.match(attempt.message)
    assert found is not None
    return {
        "filter": [*walked, [node, found[1], "Error", [attempt.message]]],
        "feasible": [row[0] for row in walked if row[1] == "ok"],
        "evaluatedNodes": len(walked),
    }


def not_run(pod_key: str, attempt: int, outcome: str, start_index: int) -> Json:
    """Return the record of a pod that stopped before its cycle."""
    return {
        "pod": pod_key,
        "attempt": attempt,
        "outcome": outcome,
        "evaluatedNodes": 0,
        "feasible": [],
        "startIndex": start_index,
        "endIndex": start_index,
    }


def status_of(status: Status) -> Json:
    """`plugin` and `reasons` only where there are some."""
    told: Json = {"code": status.code.name}
    if status.plugin:
        told["plugin"] = status.plugin
    if status.reasons:
        told["reasons"] = sorted(status.reasons)
    return told


def profile_of(framework: Framework) -> Json:
    """The effective plugin lists of a profile."""
    return {
        "schedulerName": framework.name,
        "percentageOfNodesToScore": framework.percentage_of_nodes_to_score,
        "preFilter": _names(framework.pre_filter),
        "filter": _names(framework.filter),
        "postFilter": _names(framework.post_filter),
        "preScore": _names(framework.pre_score),
        "score": [[plugin.name, framework.weights[plugin.name]] for plugin in framework.score],
    }


def _names(plugins: Sequence[Any]) -> list[str]:
    return [plugin.name for plugin in plugins]


def _pre_filter(attempt: Attempt, status: Status) -> Json:
    names = attempt.pre_filter_node_names
    return status_of(status) | {
        "nodeNames": sorted(names) if names is not None else None,
        "skipFilter": sorted(attempt.skip_filter_plugins),
    }


def _nominated(tried: NominatedTry) -> Json:
    told: Json = {"node": tried.node_name, "fits": tried.fits}
    if tried.error:
        told["error"] = tried.error
    elif tried.fits:
        told["status"] = {"code": "Success"}
    elif tried.status is not None:
        told["status"] = status_of(tried.status)
    return told


def _score(rows: ScoreRows, feasible: list[str]) -> Json:
    weights = [weight for _, weight in rows.plugins]
    weighted = [(row * weight).tolist() for row, weight in zip(rows.normalized, weights, strict=True)]
    return {
        "skip": sorted(rows.skipped),
        "plugins": [name for name, _ in rows.plugins],
        "nodes": [
            [name, [column[place] for column in weighted], total]
            for place, (name, total) in enumerate(zip(feasible, rows.totals.tolist(), strict=True))
        ],
    }


def _post_filter(record: PostFilterRecord) -> Json:
    told: Json = {"code": record.code}
    if record.plugin:
        told["plugin"] = record.plugin
    told |= {"message": record.message, "nominatedNodeName": record.nominated_node_name}
    # No preemption is recorded as one that tried nothing.
    return told | _preemption(record.preemption or PreemptionRecord())


def _preemption(record: PreemptionRecord) -> Json:
    told: Json = {"dryRun": record.dry_run, "offset": record.offset, "numCandidates": record.num_candidates}
    if record.potential_nodes:
        told["potentialNodes"] = list(record.potential_nodes)
    if record.candidates:
        told["candidates"] = [
            {"node": found.node_name, "victims": list(found.victims), "numPDBViolations": found.num_pdb_violations}
            for found in record.candidates
        ]
    if record.not_candidates:
        told["notCandidates"] = {name: status_of(status) for name, status in record.not_candidates}
    if record.tied:
        told["tied"] = list(record.tied)
    if record.chosen:
        told |= {"chosen": record.chosen, "victims": list(record.victims)}
    if record.cleared_nominations:
        told["clearedNominations"] = list(record.cleared_nominations)
    return told
