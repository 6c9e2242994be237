"""Why a pod has no node, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from kschedweb.ops.figures import sentence
from kschedweb.ops.telling import number_of


def told_pod(said: Mapping[str, Any]) -> Iterator[str]:
    """Why a pod has no node, a sentence a line."""
    judged, since, turning, waits = said["judged"], said["since"], said["turning"], said["waits"]
    if since is not None:
        least = "at least " if since["is_cut"] else ""
        yield f"in vain since {since['at']}: {least}{number_of(since['attempts'], 'attempt')} in a row"
    if turning is not None:
        yield from _turning(turning)
    if judged is not None:
        yield from _judged(judged)
    if said["preemption"] is not None:
        yield _preemption(said["preemption"])
    if waits is not None:
        yield from _waits(waits)
    apart = said["difference"]
    if apart is not None:
        yield f"different: {apart['field']}; recorded: {apart['recorded']}; again: {apart['replayed']}"


def _turning(found: Mapping[str, Any]) -> Iterator[str]:
    turn = found["turn"]
    if found["fitted_then"] is False:
        yield "it was created when it fitted nowhere"
    match found["verdict"]:
        case "entry":
            name = "/".join(part for part in (turn["namespace"], turn["name"]) if part)
            who = "it" if turn["existed"] else "a pod like it"
            yield (
                f"made unschedulable by entry {turn['rv']}: {turn['kind']} {name} {turn['operation']}"
                f" by {turn['actor']} at {turn['at']}"
            )
            fitted = f"just before {who} fits on {number_of(turn['fitting'], 'node')} ({turn['node']}), with it on none"
            yield f"  {fitted}: proven by two runs"
        case "fits":
            yield f"by what is stored at {found['until']} it fits: it has not been tried since, or room was taken"
        case "never":
            yield f"it fitted at none of {found['runs']} moments tried, back to the first"
        case "cut":
            yield f"it fitted at none of {found['runs']} moments tried, back to {found['begins']}, where history begins"
        case "late":
            yield "since which change was not found in time"
        case "unproven":
            yield "since which change is not sure: a second engine says otherwise"


def _judged(judged: Mapping[str, Any]) -> Iterator[str]:
    yield f"fits on {judged['fitting']:,} of {number_of(judged['nodes'], 'node')}; kept away, and by this reason alone:"
    for reason in judged["reasons"]:
        yield f"  {reason['nodes']:>6}  {reason['alone']:>6}  {reason['plugin']}: {reason['reason']}"
    if judged["near"]:
        yield f"one reason away: {number_of(judged['num_near'], 'node')}, the nearest first"
    for near in judged["near"]:
        about = "; ".join(map(sentence, near["amounts"])) or near["reason"]
        yield f"  {near['node']}: {about}"


def _preemption(found: Mapping[str, Any]) -> str:
    match found["outcome"]:
        case "found":
            victims = number_of(len(found["victims"]), "pod")
            return f"preemption: {victims} evicted on {found['node']}"
        case "failed":
            why = "; ".join(f"{each['nodes']:,} {each['reason']}" for each in found["refusals"])
            return f"preemption: tried on {number_of(found['potential'], 'node')} in vain{': ' if why else ''}{why}"
        case "noHelp":
            return "preemption: evictions would lift no node's refusal"
        case "never":
            return "preemption: not tried, its policy is Never"
        case "terminating":
            return "preemption: not tried, victims of it are still leaving the node it is nominated to"
        case "notAsked":
            return "preemption: not asked"
    return f"preemption: {found['message']}"


def _waits(waits: Mapping[str, Any]) -> Iterator[str]:
    until = f", tried again by {waits['retried_at']}" if waits["retried_at"] else ""
    yield f"waits in {waits['queue']} since {waits['since']}{until}"
    for waker in waits["wakers"]:
        hint = ", if its hint says so" if waker["has_hint"] else ""
        yield f"  {waker['plugin']}: {waker['resource']} {'/'.join(waker['actions'])}{hint}"
