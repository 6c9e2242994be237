/** A node. */
import { text, view, whole } from "../../lib/view";

export const nodeView = view({
  path: "/clusters/:clusterId/nodes/:name",
  params: { clusterId: whole, name: text },
  load: () => import("./NodePanel.svelte"),
});

export const nodeHref = (clusterId: number, name: string): string => nodeView.href({ clusterId, name });
