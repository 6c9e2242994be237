/** Workloads: which kinds there are, and how their states are shown. */
import type { Workload } from "../contract/api.gen";

export const WORKLOAD_KINDS = [
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "ReplicaSet",
  "ReplicationController",
  "Job",
  "CronJob",
] as const;

export type WorkloadState = Workload["state"];

export function isWorkload(kind: string): boolean {
  return WORKLOAD_KINDS.some((one) => one === kind);
}

/** `rank`: what comes first: what is being changed, then what is not as it should be. */
const STATES: Readonly<
  Record<WorkloadState, { readonly tone: "good" | "cool" | "warn" | "bad" | ""; readonly rank: number }>
> = {
  progressing: { tone: "cool", rank: 0 },
  deleting: { tone: "warn", rank: 1 },
  failed: { tone: "bad", rank: 2 },
  stalled: { tone: "bad", rank: 3 },
  unavailable: { tone: "warn", rank: 4 },
  paused: { tone: "warn", rank: 5 },
  suspended: { tone: "warn", rank: 6 },
  running: { tone: "cool", rank: 7 },
  scheduled: { tone: "good", rank: 8 },
  available: { tone: "good", rank: 9 },
  complete: { tone: "good", rank: 10 },
};

export const isWorkloadState = (state: string): state is WorkloadState => Object.hasOwn(STATES, state);

export const toneOf = (state: WorkloadState): string => STATES[state].tone;

/** Whether somebody may want to look at it; finished Jobs are deleted all the time. */
export const isRemarkable = ({ kind, state }: Workload): boolean =>
  STATES[state].rank <= STATES.suspended.rank && !(kind === "Job" && state === "deleting");

/** What is being changed or needs attention first, then by namespace and name. */
export function byAttention(a: Workload, b: Workload): number {
  return STATES[a.state].rank - STATES[b.state].rank || (keyOf(a) < keyOf(b) ? -1 : 1);
}

export const keyOf = ({ namespace, name }: Workload): string => `${namespace}/${name}`;

/** How much of it is there: (pods that count, pods it wants); null where it wants no number. */
export function progressOf({ kind, wanted, available, succeeded }: Workload): readonly [number, number] | null {
  if (wanted === null) return null;
  return [kind === "Job" ? (succeeded ?? 0) : (available ?? 0), wanted];
}

/** Whether text or kind of a workload is what is looked for; `sought` is in lower case. */
export function matches(workload: Workload, sought: string): boolean {
  return keyOf(workload).toLowerCase().includes(sought) || workload.kind.toLowerCase().includes(sought);
}
