"""Why a pod was evicted, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from kschedweb.ops.figures import sentence
from kschedweb.ops.telling import number_of

BY = {
    "preempted": "preempted",
    "taint": "evicted for a taint it does not tolerate",
    "api": "evicted by the Eviction API",
    "kubelet": "ended by its kubelet",
    "podGC": "deleted because its node is gone",
    "deleted": "deleted",
}


def told_evicted(key: str, said: Mapping[str, Any]) -> Iterator[str]:
    """Why a pod was evicted, a sentence a line."""
    entry, found = said["entry"], said["preemption"]
    place = f" on {said['node']}" if said["node"] else ""
    yield ": ".join(part for part in (f"{key}{place}", BY[said["by"]], said["message"]) if part)
    cut = ", and earlier: what was before it is not stored any more" if said["is_cut"] else ""
    yield f"entry {entry['rv']} by {entry['actor']} at {entry['at']}: {entry['operation']}{cut}"
    yield from _cause(said)
    yield f"gone at {said['gone_at']}" if said["gone_at"] else "it is still leaving"
    if said["preemptor"]:
        priority = "" if found is None or found["priority"] is None else f", of priority {found['priority']:,}"
        yield f"it makes room for {said['preemptor']}{priority}; its own priority is {said['priority']:,}"
    if found is not None:
        yield from _search(found)
        yield from _tried(key, said, found)
    elif said["by"] == "preempted":
        yield "the attempt that chose it is not stored"
    apart = said["difference"]
    if apart is not None:
        yield f"different: {apart['field']}; recorded: {apart['recorded']}; again: {apart['replayed']}"


def _cause(said: Mapping[str, Any]) -> Iterator[str]:
    """The change of its node behind it, and the budgets it was counted against."""
    cause, node = said["cause"], said["node"]
    if cause is not None:
        by = f"entry {cause['rv']} by {cause['actor']} at {cause['at']}"
        if cause["is_cut"]:
            by = f"before {by}, the first that is stored"
        if cause["taint"]:
            seconds = cause["seconds"]
            tolerated = "" if seconds is None else f", tolerated for {number_of(seconds, 'second')}"
            yield f"taint {cause['taint']} on {node}{tolerated}: {by}"
        else:
            yield f"{node} {'deleted' if cause['operation'] == 'deleted' else 'to be drained'}: {by}"
    for budget in said["budgets"]:
        left = number_of(budget["left"], "disruption")
        yield f"counted against the budget {budget['namespace']}/{budget['name']}, which allows {left} after it"


def _search(found: Mapping[str, Any]) -> Iterator[str]:
    """The nodes that were tried for victims, and which criterion decided."""
    refused = "".join(f"; {each['nodes']:,} in vain: {each['reason']}" for each in found["refusals"])
    untried = f"; {found['untried']:,} not tried, enough were found" if found["untried"] else ""
    candidates = number_of(found["candidates"], "candidate")
    yield f"its attempt {found['number']:,}: {candidates} of {number_of(found['potential'], 'node')}{refused}{untried}"
    if found["asks_extenders"]:
        yield "extenders had a say in which candidates were left"
    node, criterion = found["node"], found["criterion"]
    nothing: Mapping[str, Any] = {}  # an extender may name a node that was no candidate
    taken = next((cost for cost in found["costs"] if cost["node"] == node), nothing)
    if criterion:
        yield f"{node} costs less by {criterion}: {_figure(taken, criterion)}"
    elif found["tied"]:
        yield f"{node} is the first of {found['tied']:,} nodes that no criterion tells apart"
    else:
        yield f"{node} was taken: {_figure(taken, 'number_of_victims')}"
    for cost in found["costs"]:
        if cost is taken:
            continue
        falls = cost["falls_by"]
        more = f"{_figure(cost, falls)} instead of {_figure(taken, falls)}" if falls else _unsaid(found, cost)
        yield f"  {cost['node']}: {more}"
    left = found["candidates"] - len(found["costs"])
    if left > 0:
        yield f"  and {number_of(left, 'other')}"


def _unsaid(found: Mapping[str, Any], cost: Mapping[str, Any]) -> str:
    if cost["left_out"]:
        return "left out by extenders"
    if found["made_again"]:
        return "the same; it comes later"
    return f"{_figure(cost, 'pdb_violations')}, {_figure(cost, 'number_of_victims')}"


def _figure(cost: Mapping[str, Any], criterion: str) -> str:
    """What a node costs by one criterion; of a record alone not all of it is known."""
    value = cost.get(criterion)
    if value is None:
        return "not known"
    match criterion:
        case "pdb_violations":
            return number_of(value, "budget violation")
        case "highest_priority":
            return f"highest priority {value:,}"
        case "sum_of_priorities":
            return f"sum of priorities {value:,} (2,147,483,648 added to each)"
        case "number_of_victims":
            return number_of(value, "victim")
    return f"its most important victims running since {value}"


def _tried(key: str, said: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """The pods of the node in the order in which they were put back; the one in question is marked."""
    pods = found["pods"]
    if not pods:
        return
    of_lower = f"{number_of(len(pods), 'pod')} of lower priority on {found['node']}"
    yield f"{of_lower}, put back one by one, those that violate a budget first, then the most important:"
    for pod in pods:
        status = pod["status"]
        why = "spared" if status is None else f"not spared: {status['plugin']}: {', '.join(status['reasons'])}"
        yield f"{'>' if pod['pod'] == key else ' '} {pod['pod']}, priority {pod['priority']:,}: {why}"
        yield from (f"    {sentence(each)}" for each in pod["amounts"])
        yield from (f"    {_budget(each)}" for each in pod["budgets"])
        if pod["pod"] != key or pod["spared"]:
            continue
        preemptor = said["preemptor"]
        if pod["needless"]:
            yield f"    it need not have gone: {preemptor} fits beside it when the other victims go"
        elif pod["alone"]:
            yield f"    {preemptor} fits beside it when all others of lower priority go: those above were preferred"
        else:
            yield f"    {preemptor} does not fit beside it, whoever else goes"


def _budget(budget: Mapping[str, Any]) -> str:
    name, allowed = f"{budget['namespace']}/{budget['name']}", number_of(budget["allowed"], "disruption")
    violates = "a violation" if budget["place"] > budget["allowed"] else "within it"
    return f"budget {name} allows {allowed}, it is number {budget['place']:,}: {violates}"
