/** The dashboard of a cluster: what it shows stays on the screen under every view that opens over it. */
import { LANES } from "../../lib/queues";
import { flag, oneOf, view, whole, withSettings, words } from "../../lib/view";

export const dashboardView = view({
  path: "/clusters/:clusterId",
  params: { clusterId: whole },
  settings: {
    nodes: oneOf("preferred", "grid", "list"),
    span: oneOf("minutes", "hour", "day"),
    slowest: oneOf("hour", "ever"),
    pending: words(),
    single: flag,
    queue: oneOf("", ...LANES),
    find: words(),
    events: oneOf("all", "warnings", "nodes", "workloads", "pods"),
    // A list in the place of the cards, its query, its order and its columns.
    list: words(),
    q: words(),
    sort: words(),
    columns: words(),
    at: words(), // the moment in the past that all of the page shows: a position of both logs; empty: now
  },
  stays: [
    ...(["nodes", "span", "slowest", "pending", "single", "queue", "find", "events"] as const),
    ...(["list", "q", "sort", "columns", "at"] as const),
  ],
  load: () => import("./Dashboard.svelte"),
});

/** The cluster as it was at a position of both logs; `over`: with what opens over it. */
export const momentHref = (clusterId: number, position: string, over = dashboardView.href({ clusterId })): string =>
  withSettings(dashboardView.settings, { at: position }, over);

/** The address of a list; whatever was asked of another one does not come along. */
export const listHref = (clusterId: number, list: string, q = ""): string =>
  `${dashboardView.href({ clusterId })}?${new URLSearchParams({ list, q, sort: "", columns: "" })}`;
