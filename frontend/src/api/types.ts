/** What the REST calls answer: from the schema of the service, with the JSON inside said more exactly. */
import type { components } from "../contract/rest.gen";

type Schemas = components["schemas"];

export type Attempt = Schemas["Attempt"];
export type AttemptDetail = Schemas["AttemptDetail"];
export type BestNode = Schemas["BestNode"];
export type HistoryEntry = Schemas["HistoryEntry"];
export type Me = Schemas["Me"];
export type Matrix = Schemas["Matrix"];
export type MatrixNode = Schemas["MatrixNode"];
export type NodeRefusals = Schemas["NodeRefusals"];
export type Pending = Schemas["Pending"];
export type PendingPod = Schemas["PendingPod"];
export type PendingReason = Schemas["PendingReason"];
export type PodHistory = Schemas["PodHistory"];
export type Preemption = Schemas["Preemption"];
export type PreemptionAttempt = Schemas["PreemptionAttempt"];
export type PreemptionDetail = Schemas["PreemptionDetail"];
export type Rejection = Schemas["Rejection"];

export type ImportJob = Omit<Schemas["Import"], "report" | "error"> & {
  readonly report: Readonly<Record<string, unknown>> | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly extra?: Readonly<Record<string, unknown>>;
  } | null;
};

export type ClusterSummary = Schemas["Cluster"];
export type Leadership = Schemas["Leadership"];
export type PaceRequest = Schemas["PaceChangeRequest"];
export type PodDetail = Schemas["PodDetail"];
export type NodeDetail = Schemas["NodeDetail"];
export type SchedulerConfig = Schemas["SchedulerConfig"];
export type SchedulerConfigVersion = Schemas["SchedulerConfigVersion"];
