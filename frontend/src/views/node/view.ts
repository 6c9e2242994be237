/** A node. */
import { flag, text, view, whole, words } from "../../lib/view";

export const nodeView = view({
  path: "/clusters/:clusterId/nodes/:name",
  params: { clusterId: whole, name: text },
  settings: { rejections: flag, plugin: words(), manifest: flag },
  load: () => import("./NodePanel.svelte"),
});

export const nodeHref = (clusterId: number, name: string): string => nodeView.href({ clusterId, name });
