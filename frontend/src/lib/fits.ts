/** What would make a pod fit, in sentences. */
import type { FitChange, FitPlace, FitSuggestion, FitWrite } from "../contract/api.gen";
import { i18n, type TextKey, t } from "../i18n/index.svelte";
import { type Sentence, sentence } from "./amounts";

const MOST_NAMED = 5;
const TEXTS = {
  gate: "fits.gate",
  uncordon: "fits.uncordon",
  maxSkew: "fits.number",
  toleration: "fits.toleration",
  request: "fits.number",
  nodeSelector: "fits.drop",
  nodeAffinity: "fits.drop",
  spread: "fits.number",
  quota: "fits.numberOf",
  devices: "fits.numberOf",
  deviceClass: "fits.numberOf",
  storageClass: "fits.numberOf",
  claim: "fits.number",
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
  if (change.kind === "addNode" && change.more.length) key = "fits.addNodes";
  return sentence(key, {
    field: change.field,
    of: change.of,
    old: change.old,
    new: change.kind === "addNode" ? { node: change.new } : change.new,
    node: change.more.length ? namesText([change.node, ...change.more]) : { node: change.node },
    nodes: change.more.length + 1,
    pods: namesText(change.pods),
  });
}

/** Where the pod would be, and who would have to go, unless the change itself says so. */
export function thenText(found: FitSuggestion): Sentence {
  const goes = found.changes.some((each) => each.kind === "evict") ? [] : found.victims;
  if (found.places.length) {
    const together = goes.length ? "fits.thenPlacesVictims" : "fits.thenPlaces";
    return sentence(together, {
      places: placesText(found.places),
      cost: found.cost,
      pods: namesText(goes),
    });
  }
  const key = goes.length ? "fits.thenVictims" : "fits.then";
  const isNew = found.changes.some((each) => each.kind === "addNode");
  return sentence(key, {
    node: isNew ? found.node : { node: found.node },
    nodes: found.feasible,
    cost: found.cost,
    pods: namesText(goes),
  });
}

/** The nodes of several pods, each with how many it gets where these are more than one. */
export function placesText(places: readonly FitPlace[]): string {
  const counted = new Map<string, number>();
  for (const { node } of places) counted.set(node, (counted.get(node) ?? 0) + 1);
  return namesText([...counted].map(([node, pods]) => (pods > 1 ? `${node} (${i18n.number(pods)})` : node)));
}

/** What is written, in order. */
export function writesText(writes: readonly FitWrite[]): string {
  const said = writes.map(({ verb, kind, namespace, name }) =>
    t(`fits.write.${verb}`, { what: `${kind} ${namespace ? `${namespace}/` : ""}${name}` }),
  );
  return said.join(" · ");
}

export function namesText(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(", ") + (more > 0 ? `, +${i18n.number(more)}` : "");
}
