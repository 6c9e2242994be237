/** A pod, or one attempt at it, by its number. */
import { flag, objectKey, oneOf, optional, place, view, whole, withSettings, words } from "../../lib/view";

export const podView = view({
  path: "/clusters/:clusterId/pods/:key[/attempts/:attempt]",
  params: { clusterId: whole, key: objectKey, attempt: optional(whole) },
  settings: {
    seq: place, // of the attempt in the engine log, where its number alone leads elsewhere
    matrix: flag,
    node: words(),
    verdict: oneOf("", "feasible", "refused", "tied"),
    plugin: words(),
    order: words(), // of the matrix; `sort`, which lists have too, says it in addresses of earlier versions
    sort: words("walk"),
    scores: oneOf("weighted", "raw", "normalized"),
    constant: flag, // whether columns that are the same for every node are shown
    from: place,
    search: flag,
    outcome: oneOf("candidate", "refused", "untried"),
    searchFrom: place,
    after: flag,
    history: oneOf("", "shown", "older"),
    manifest: flag,
    why: flag, // since which change it fits nowhere, which nodes are near; what evicting others would have cost
  },
  stays: ["matrix", "search", "history", "manifest", "why"],
  load: () => import("./PodPanel.svelte"),
});

export const podHref = (clusterId: number, key: string, attempt: number | null = null): string =>
  podView.href({ clusterId, key, attempt });

/** `seq`: where an earlier pod of this name, or the pod itself, may have an attempt with the same number. */
export const attemptHref = (clusterId: number, key: string, number: number, seq = 0): string =>
  withSettings(podView.settings, { seq }, podHref(clusterId, key, number));
