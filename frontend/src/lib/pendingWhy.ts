/** Why a pod has no node, in sentences whose figures are linked to where they stand in full. */
import type { KeepingReason, PodWhy, PreemptionTold, Turning, TurningEntry, Waker } from "../contract/api.gen";
import { i18n, type TextKey, t } from "../i18n/index.svelte";
import { type Sentence, sentence } from "./amounts";

/** Addresses of the nodes that a plugin kept the pod from, and of an entry of the change log. */
export type Links = { readonly rows: (plugin: string) => string; readonly entry: (turn: TurningEntry) => string };

const VERDICTS = {
  fits: "pendingWhy.fits",
  never: "pendingWhy.never",
  cut: "pendingWhy.cut",
  late: "pendingWhy.late",
  unproven: "pendingWhy.unproven",
} as const satisfies Record<Exclude<Turning["verdict"], "entry">, TextKey>;
const OPERATIONS: Readonly<Record<string, TextKey>> = {
  created: "pendingWhy.created",
  updated: "pendingWhy.updated",
  deleted: "pendingWhy.deleted",
};
const PREEMPTION = {
  found: "pendingWhy.preempted",
  failed: "pendingWhy.preemptionFailed",
  noHelp: "pendingWhy.preemptionNoHelp",
  never: "pendingWhy.preemptionNever",
  terminating: "pendingWhy.preemptionTerminating",
  other: "pendingWhy.preemptionOther",
  notAsked: "pendingWhy.preemptionNotAsked",
} as const satisfies Record<PreemptionTold["outcome"], TextKey>;

/** Since when, and which change made it unschedulable. */
export function sinceTexts({ since, turning }: PodWhy, links: Links): readonly Sentence[] {
  const found: Sentence[] = [];
  if (since) {
    const key = since.is_cut ? "pendingWhy.sinceAtLeast" : "pendingWhy.since";
    found.push(sentence(key, { time: i18n.moment(Date.parse(since.at)), attempts: since.attempts }));
  }
  if (turning) found.push(...turningTexts(turning, links));
  return found;
}

function turningTexts(turning: Turning, links: Links): readonly Sentence[] {
  const { turn, verdict } = turning;
  const found: Sentence[] = [];
  if (turning.fitted_then === false) found.push(sentence("pendingWhy.createdUnfit", {}));
  if (verdict === "entry" && turn) {
    const name = turn.namespace ? `${turn.namespace}/${turn.name}` : turn.name;
    const subject = turn.kind === "Node" ? { node: name } : turn.kind === "Pod" ? { pod: name } : name;
    found.push(
      sentence(OPERATIONS[turn.operation] ?? "pendingWhy.updated", {
        kind: turn.kind,
        name: subject,
        actor: turn.actor,
        time: i18n.moment(Date.parse(turn.at)),
        rv: { text: String(turn.rv), href: links.entry(turn) },
      }),
      sentence(turn.existed ? "pendingWhy.proof" : "pendingWhy.proofAlike", {
        nodes: turn.fitting,
        node: { node: turn.node },
      }),
    );
  } else if (verdict !== "entry") {
    found.push(sentence(VERDICTS[verdict], { runs: turning.runs, begins: turning.begins }));
  }
  return found;
}

/** A reason, with the nodes it keeps the pod from and those that nothing else does. */
export function keepingText(reason: KeepingReason, links: Links): Sentence {
  return sentence("pendingWhy.reason", {
    plugin: reason.plugin,
    reason: reason.reason,
    nodes: { text: i18n.number(reason.nodes), href: links.rows(reason.plugin) },
    alone: reason.alone,
  });
}

export function preemptionText(found: PreemptionTold): Sentence {
  return sentence(PREEMPTION[found.outcome], {
    potential: found.potential,
    node: { node: found.node },
    victims: found.victims.length,
    message: found.message,
    reasons: found.refusals.map((each) => `${each.reason} (${i18n.number(each.nodes)})`).join("; "),
  });
}

/** Where it waits and when it is tried again. */
export function waitsText({ waits }: PodWhy): Sentence {
  if (!waits) return [];
  const time = waits.retried_at ? i18n.moment(Date.parse(waits.retried_at)) : "";
  if (waits.queue === "gated") return sentence("pendingWhy.gated", { plugins: waits.plugins.join(", ") });
  return time ? sentence("pendingWhy.retried", { time }) : sentence("pendingWhy.soon", {});
}

/** An event that would wake it; the words of events are those of the scheduler. */
export function wakerText(waker: Waker): Sentence {
  return sentence(waker.has_hint ? "pendingWhy.wakerHint" : "pendingWhy.waker", {
    plugin: waker.plugin,
    event: eventText(waker),
  });
}

const EVENTS: Readonly<Record<string, TextKey>> = {
  "Node/Add": "pendingWhy.event.nodeAdd",
  "Node/Delete": "pendingWhy.event.nodeDelete",
  "Node/UpdateNodeAllocatable": "pendingWhy.event.nodeAllocatable",
  "Node/UpdateNodeLabel": "pendingWhy.event.nodeLabel",
  "Node/UpdateNodeTaint": "pendingWhy.event.nodeTaint",
  "Node/UpdateNodeCondition": "pendingWhy.event.nodeCondition",
  "Node/UpdateNodeAnnotation": "pendingWhy.event.nodeAnnotation",
  "Pod/Add": "pendingWhy.event.podAdd",
  "Pod/Delete": "pendingWhy.event.podDelete",
  "Pod/UpdatePodLabel": "pendingWhy.event.podLabel",
  "Pod/UpdatePodScaleDown": "pendingWhy.event.podScaleDown",
  "Pod/UpdatePodToleration": "pendingWhy.event.podToleration",
  "Pod/UpdatePodSchedulingGatesEliminated": "pendingWhy.event.podGates",
  "Pod/UpdatePodGeneratedResourceClaim": "pendingWhy.event.podClaim",
};
const OF_ANY_KIND: Readonly<Record<string, TextKey>> = {
  Add: "pendingWhy.event.add",
  Update: "pendingWhy.event.update",
  Delete: "pendingWhy.event.delete",
  All: "pendingWhy.event.all",
};

function eventText({ resource, actions }: Waker): string {
  const kind = resource.slice(resource.lastIndexOf("/") + 1);
  const texts = actions.map((action) => {
    const key = EVENTS[`${resource}/${action}`] ?? OF_ANY_KIND[action];
    return key ? t(key, { kind }) : `${resource} ${action}`;
  });
  return texts.join(", ");
}
