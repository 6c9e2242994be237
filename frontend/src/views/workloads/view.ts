/** All workloads of a cluster. */
import { view, whole, words } from "../../lib/view";

export const workloadsView = view({
  path: "/clusters/:clusterId/workloads",
  params: { clusterId: whole },
  settings: { find: words(), kind: words() },
  load: () => import("./WorkloadsPanel.svelte"),
});

export const workloadsHref = (clusterId: number, kind = ""): string =>
  `${workloadsView.href({ clusterId })}${kind ? `?kind=${encodeURIComponent(kind)}` : ""}`;
