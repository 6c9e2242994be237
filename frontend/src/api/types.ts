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
export type PreemptionSearch = Schemas["PreemptionSearch"];
export type Rejection = Schemas["Rejection"];

/** Where in an upload something is wrong; what is not known is missing. */
export interface ImportProblem {
  readonly file?: string;
  readonly document?: number;
  readonly item?: number;
  readonly line?: number;
  readonly object?: string;
  readonly field?: string;
  readonly detail?: string;
  readonly limit?: number;
}

export interface ImportReport {
  readonly files: readonly {
    readonly name: string;
    readonly format: string;
    readonly bytes: number;
    readonly documents: number;
    readonly objects: number;
  }[];
  readonly kinds: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly kept: number;
  readonly admitted: number;
  readonly not_understood: Readonly<Record<string, number>>;
  readonly refused: readonly (ImportProblem & { readonly message: string })[];
  readonly refused_total: number;
  readonly resources: Readonly<Record<string, { readonly demand: number; readonly capacity: number }>>;
  readonly seconds: number;
}

export type ImportJob = Omit<Schemas["Import"], "report" | "error"> & {
  readonly report: ImportReport | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly extra?: ImportProblem;
  } | null;
};

/** A page of a list; `next` is the address of the page after it. */
export interface Page<T> {
  readonly results: readonly T[];
  readonly next: string | null;
}

export type ClusterSummary = Schemas["Cluster"];
export type Leadership = Schemas["Leadership"];
export type PaceRequest = Schemas["PaceChangeRequest"];
export type PodDetail = Schemas["PodDetail"];
export type NodeDetail = Schemas["NodeDetail"];
export type SchedulerConfig = Schemas["SchedulerConfig"];
export type SchedulerConfigVersion = Schemas["SchedulerConfigVersion"];
