/** An object that has no namespace and no view of its own: a PriorityClass, … */
import { text, view, whole } from "../../lib/view";

export const clusterObjectView = view({
  path: "/clusters/:clusterId/objects/:kind/:name",
  params: { clusterId: whole, kind: text, name: text },
  load: () => import("./ObjectPanel.svelte"),
});

export const clusterObjectHref = (clusterId: number, kind: string, name: string): string =>
  clusterObjectView.href({ clusterId, kind, name });
