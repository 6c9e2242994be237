/** What would make a pod fit, in sentences. */
import type { FitChange, FitSuggestion } from "../contract/api.gen";
import { i18n, type TextKey } from "../i18n/index.svelte";
import { type Sentence, sentence } from "./amounts";

const MOST_PODS = 5;
const TEXTS = {
  gate: "fits.gate",
  uncordon: "fits.uncordon",
  maxSkew: "fits.number",
  toleration: "fits.toleration",
  request: "fits.number",
  nodeSelector: "fits.drop",
  nodeAffinity: "fits.drop",
  spread: "fits.number",
  hostPort: "fits.drop",
  podAffinity: "fits.prefer",
  podAntiAffinity: "fits.prefer",
  relabel: "fits.label",
  evict: "fits.evict",
  priority: "fits.number",
  addNode: "fits.addNode",
} as const satisfies Record<FitChange["kind"], TextKey>;

/** A change; what is written in a manifest stays as it is. */
export function changeText(change: FitChange): Sentence {
  let key: TextKey = TEXTS[change.kind];
  if (change.kind === "nodeAffinity" && change.new === "preferred") key = "fits.prefer";
  if (change.kind === "relabel" && !change.new) key = "fits.unlabel";
  return sentence(key, {
    field: change.field,
    old: change.old,
    new: change.kind === "addNode" ? { node: change.new } : change.new,
    node: { node: change.node },
    pods: podsText(change.pods),
  });
}

/** Where the pod would be, and who would have to go. */
export function thenText(found: FitSuggestion): Sentence {
  const key = found.victims.length ? "fits.thenVictims" : "fits.then";
  const isNew = found.changes.some((each) => each.kind === "addNode");
  return sentence(key, {
    node: isNew ? found.node : { node: found.node },
    nodes: found.feasible,
    cost: found.cost,
    pods: podsText(found.victims),
  });
}

export function podsText(pods: readonly string[]): string {
  const more = pods.length - MOST_PODS;
  return pods.slice(0, MOST_PODS).join(", ") + (more > 0 ? `, +${i18n.number(more)}` : "");
}
