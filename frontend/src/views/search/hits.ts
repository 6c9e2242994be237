/** How hits of the search are shown, and where each opens. */
import type { SearchHit } from "../../contract/api.gen";
import type { TextKey } from "../../i18n/index.svelte";
import type { Opened } from "../../lib/found";
import { withSettings } from "../../lib/view";
import { isWorkloadState, toneOf } from "../../lib/workloads";
import { clusterHref } from "../../state/route.svelte";
import { configHref } from "../config/view";
import { dashboardView } from "../dashboard/view";
import { nodeHref } from "../node/view";
import { clusterObjectHref } from "../object/view";
import { podHref } from "../pod/view";
import { workloadHref } from "../workload/view";
import { workloadsHref, workloadsView } from "../workloads/view";

/** All kinds but deleted pods, of which there may be so many that the answer takes longer. */
const SOON_FOUND: Readonly<Record<Exclude<SearchHit["kind"], "gonepod">, true>> = {
  pod: true,
  node: true,
  workload: true,
  namespace: true,
  priorityclass: true,
  reason: true,
  configuration: true,
  cluster: true,
};
export const SOON = Object.keys(SOON_FOUND).join(",");

export function hrefOf({ kind, cluster_id: id, namespace, name, of }: Opened): string {
  switch (kind) {
    case "pod":
    case "gonepod":
      return podHref(id, `${namespace}/${name}`);
    case "node":
      return nodeHref(id, name);
    case "workload":
      return workloadHref(id, of, `${namespace}/${name}`);
    case "namespace":
      return withSettings(workloadsView.settings, { find: name }, workloadsHref(id));
    case "priorityclass":
      return clusterObjectHref(id, "PriorityClass", name);
    case "reason":
      return withSettings(dashboardView.settings, { pending: `${of}/${name}` }, clusterHref(id));
    case "configuration":
      return configHref(id, of === "version" ? Number(name.slice(1)) : null);
    case "cluster":
      return clusterHref(id);
    default:
      return kind satisfies never;
  }
}

type Stated = Exclude<SearchHit["state"], "">;

const STATES: Readonly<Partial<Record<Stated, TextKey>>> = {
  pending: "search.state.pending",
  bound: "search.state.bound",
  running: "search.state.running",
  succeeded: "search.state.succeeded",
  failed: "search.state.failed",
  deleting: "search.state.deleting",
  gone: "search.state.gone",
  ready: "nodes.ready",
  not_ready: "nodes.notReady",
  unschedulable: "nodes.cordoned",
  active: "config.inForce",
  earlier: "search.state.earlier",
};

const TONES: Readonly<Partial<Record<Stated, string>>> = {
  pending: "warn",
  bound: "cool",
  running: "good",
  failed: "bad",
  ready: "good",
  not_ready: "bad",
  unschedulable: "warn",
  active: "good",
};

/** The word for its state and how it is coloured; null: it has none. */
export function stateOf({ kind, state }: SearchHit): { readonly text: TextKey; readonly tone: string } | null {
  if (state === "") return null;
  if (kind === "workload" && isWorkloadState(state)) return { text: `workload.state.${state}`, tone: toneOf(state) };
  return { text: STATES[state] ?? "search.state.unknown", tone: TONES[state] ?? "" };
}
