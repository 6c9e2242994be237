/** A pod, or one attempt at it. */
import { flag, objectKey, oneOf, optional, place, view, whole, words } from "../../lib/view";

export const podView = view({
  path: "/clusters/:clusterId/pods/:key[/attempts/:attempt]",
  params: { clusterId: whole, key: objectKey, attempt: optional(whole) },
  settings: {
    matrix: flag,
    node: words(),
    verdict: oneOf("", "feasible", "refused", "tied"),
    plugin: words(),
    sort: words("walk"),
    scores: oneOf("weighted", "raw", "normalized"),
    from: place,
    search: flag,
    outcome: oneOf("candidate", "refused", "untried"),
    searchFrom: place,
    after: flag,
    history: oneOf("", "shown", "older"),
    manifest: flag,
  },
  stays: ["matrix", "search", "history", "manifest"],
  load: () => import("./PodPanel.svelte"),
});

export const podHref = (clusterId: number, key: string, attempt: number | null = null): string =>
  podView.href({ clusterId, key, attempt });
