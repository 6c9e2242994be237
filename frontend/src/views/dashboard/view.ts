/** The dashboard of a cluster: what it shows stays on the screen under every view that opens over it. */
import { flag, oneOf, view, whole, words } from "../../lib/view";

export const dashboardView = view({
  path: "/clusters/:clusterId",
  params: { clusterId: whole },
  settings: {
    nodes: oneOf("preferred", "grid", "list"),
    span: oneOf("minutes", "hour", "day"),
    slowest: oneOf("hour", "ever"),
    pending: words(),
    single: flag,
    events: oneOf("all", "warnings", "nodes", "workloads", "pods"),
  },
  stays: ["nodes", "span", "slowest", "pending", "single", "events"],
  load: () => import("./Dashboard.svelte"),
});
