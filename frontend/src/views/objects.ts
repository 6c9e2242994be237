/** Where an object is shown. */

import { isWorkload } from "../lib/workloads";
import type { State } from "../live/state";
import { nodeHref } from "./node/view";
import { clusterObjectHref } from "./object/view";
import { podHref } from "./pod/view";
import { workloadHref } from "./workload/view";

/** The address of the view of an object; null: it has none, or is no longer there and nothing is kept of it. */
export function objectHref(live: State, kind: string, key: string): string | null {
  if (kind === "Pod") return podHref(live.cluster.id, key);
  if (kind === "Node") return live.nodes.has(key) ? nodeHref(live.cluster.id, key) : null;
  if (key.includes("/")) return isWorkload(kind) ? workloadHref(live.cluster.id, kind, key) : null;
  return kind === "Cluster" ? null : clusterObjectHref(live.cluster.id, kind, key); // which is no object
}
