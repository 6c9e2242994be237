/** A pod, or one attempt at it. */
import { objectKey, optional, view, whole } from "../../lib/view";

export const podView = view({
  path: "/clusters/:clusterId/pods/:key[/attempts/:attempt]",
  params: { clusterId: whole, key: objectKey, attempt: optional(whole) },
  load: () => import("./PodPanel.svelte"),
});

export const podHref = (clusterId: number, key: string, attempt: number | null = null): string =>
  podView.href({ clusterId, key, attempt });
