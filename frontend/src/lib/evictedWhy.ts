/** Why a pod was evicted, in sentences whose figures are linked to where they stand in full. */
import type { EvictingEntry, EvictionCause, NodeCost, PodEvicted, Preempting, TriedPod } from "../contract/api.gen";
import { i18n, type TextKey } from "../i18n/index.svelte";
import { type Sentence, sentence, sentenceOnNode } from "./amounts";
import type { Criterion } from "./candidates";

/** Addresses of an entry about the pod, of one about its node, and of the preemptor's attempt. */
export type Links = {
  readonly entry: (entry: EvictingEntry) => string;
  readonly nodeEntry: (entry: EvictionCause, node: string) => string;
  readonly attempt: (seq: number) => string;
};

const BY = {
  preempted: "evicted.preempted",
  taint: "evicted.taint",
  api: "evicted.api",
  kubelet: "evicted.kubelet",
  podGC: "evicted.podGC",
  deleted: "evicted.deleted",
} as const satisfies Record<PodEvicted["by"], TextKey>;
const COSTS = {
  pdb_violations: "evicted.cost.violations",
  highest_priority: "evicted.cost.highest",
  sum_of_priorities: "evicted.cost.sum",
  number_of_victims: "evicted.cost.victims",
  latest_start: "evicted.cost.start",
} as const satisfies Record<Criterion, TextKey>;

/** Who had it deleted, and for whom. */
export function causeTexts(told: PodEvicted, links: Links): readonly Sentence[] {
  const { entry, preemption } = told;
  const found = [
    sentence(BY[told.by], {
      node: told.node ? { node: told.node } : "–",
      actor: entry.actor,
      time: i18n.moment(Date.parse(entry.at)),
      rv: { text: String(entry.rv), href: links.entry(entry) },
    }),
  ];
  if (told.is_cut) found.push(sentence("evicted.cut", {}));
  if (told.cause) found.push(...behindTexts(told.cause, told.node, links));
  for (const { namespace, name, left } of told.budgets)
    found.push(sentence("evicted.spent", { name: `${namespace}/${name}`, left }));
  if (told.preemptor) {
    // Of a preemptor of which no pod is known the uid is told, which leads nowhere.
    const preemptor = told.preemptor.includes("/") ? { pod: told.preemptor } : told.preemptor;
    const key = preemption?.priority === null || !preemption ? "evicted.for" : "evicted.forPriority";
    found.push(sentence(key, { preemptor, priority: preemption?.priority ?? 0, own: told.priority }));
  }
  if (told.by === "preempted" && !preemption) found.push(sentence("evicted.notStored", {}));
  return found;
}

/** The change of the node that made its actor evict the pod. */
function behindTexts(cause: EvictionCause, name: string, links: Links): readonly Sentence[] {
  const values = {
    node: cause.operation === "deleted" ? name : { node: name },
    actor: cause.actor,
    time: i18n.moment(Date.parse(cause.at)),
    rv: { text: String(cause.rv), href: links.nodeEntry(cause, name) },
    taint: cause.taint,
  };
  if (!cause.taint)
    return [sentence(cause.operation === "deleted" ? "evicted.causeGone" : "evicted.causeDrain", values)];
  const since = sentence(cause.is_cut ? "evicted.causeTaintCut" : "evicted.causeTaint", values);
  return cause.seconds === null ? [since] : [since, sentence("evicted.tolerated", { seconds: cause.seconds })];
}

/** What the node costs that was taken; an extender may name one that was no candidate. */
export const takenOf = (found: Preempting): NodeCost | undefined => found.costs.find(({ node }) => node === found.node);

/** How many nodes were tried, and which criterion decided. */
export function searchTexts(found: Preempting, links: Links): readonly Sentence[] {
  const taken = takenOf(found);
  const node = { node: found.node };
  const texts = [
    sentence("evicted.search", {
      candidates: found.candidates,
      potential: found.potential,
      attempt: { text: i18n.number(found.number), href: links.attempt(found.attempt) },
    }),
    ...found.refusals.map(({ nodes, reason }) => sentence("evicted.refused", { nodes, reason })),
  ];
  if (found.untried) texts.push(sentence("evicted.untried", { nodes: found.untried }));
  if (found.asks_extenders) texts.push(sentence("evicted.extenders", {}));
  if (found.criterion) {
    const isKnown = taken !== undefined && taken[found.criterion] !== null;
    texts.push(
      sentence(
        isKnown ? "evicted.decided" : "evicted.decidedUnknown",
        { node, cost: isKnown ? costText(taken, found.criterion) : "" },
        { criterion: `candidates.${found.criterion}` },
      ),
    );
  } else if (found.tied) texts.push(sentence("evicted.first", { node, nodes: found.tied }));
  else if (taken) texts.push(sentence("evicted.only", { node, victims: taken.number_of_victims }));
  return texts;
}

/** What a node that was not taken would have cost more. */
export function costSentence(cost: NodeCost, taken: NodeCost, isWhole: boolean): Sentence {
  const node = { node: cost.node };
  if (cost.falls_by) {
    const [more, less] = [costText(cost, cost.falls_by), costText(taken, cost.falls_by)];
    return sentence("evicted.dearer", { node, more, less });
  }
  if (cost.left_out) return sentence("evicted.leftOut", { node });
  if (isWhole) return sentence("evicted.equal", { node });
  return sentence("evicted.ofRecord", {
    node,
    violations: costText(cost, "pdb_violations"),
    victims: costText(cost, "number_of_victims"),
  });
}

function costText(cost: NodeCost, criterion: Criterion): string {
  const value = cost[criterion];
  if (value === null) return "–";
  const shown = typeof value === "string" ? i18n.moment(Date.parse(value)) : value;
  return plain(sentence(COSTS[criterion], { value: shown }));
}

const plain = (found: Sentence): string => found.map((part) => ("text" in part ? part.text : "")).join("");

/** A pod of the node, as it was put back, with what was lacking where it stayed. */
export function triedText(pod: TriedPod): Sentence {
  const values = { pod: { pod: pod.pod }, priority: pod.priority };
  if (!pod.status) return sentence("evicted.spared", values);
  const said = { ...values, plugin: pod.status.plugin, reason: pod.status.reasons.join(", ") };
  if (!pod.amounts.length) return sentence("evicted.notSpared", said);
  const amounts = pod.amounts.flatMap((about, place) => [...(place ? [{ text: " " }] : []), ...sentenceOnNode(about)]);
  return [...sentence("evicted.notSparedFor", said), ...amounts];
}

/** Which budgets cover it, and whether it could have stayed. */
export function triedNotes(pod: TriedPod): readonly Sentence[] {
  const found = pod.budgets.map(({ namespace, name, allowed, place }) =>
    sentence(place > allowed ? "evicted.budgetViolated" : "evicted.budget", {
      name: `${namespace}/${name}`,
      allowed,
      place,
    }),
  );
  if (pod.spared) return found;
  const key = pod.needless ? "evicted.needless" : pod.alone ? "evicted.alone" : "evicted.beside";
  return [...found, sentence(key, {})];
}
