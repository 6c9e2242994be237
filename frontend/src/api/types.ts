/** What the REST calls answer: from the schema of the service, with the JSON inside said more exactly. */
import type { components } from "../contract/rest.gen";

type Schemas = components["schemas"];

export interface Rejection {
  readonly plugin: string;
  readonly reason: string;
  readonly code: string;
  readonly count: number;
}

export interface BestNode {
  readonly node: string;
  readonly total: number;
  readonly scores: Readonly<Record<string, number>>;
}

/** A search for victims: how many nodes were tried and would do; an empty node means none was found. */
export interface Preemption {
  readonly tried: number;
  readonly candidates: number;
  readonly tied: number;
  readonly node: string;
  readonly victims: readonly string[]; // the first of them
  readonly num_victims: number;
  readonly num_pdb_violations: number;
  readonly cleared: readonly string[];
}

export type Attempt = Omit<Schemas["Attempt"], "rejections" | "best" | "preemption"> & {
  readonly rejections: readonly Rejection[]; // the most frequent first
  readonly best: readonly BestNode[]; // the best first
  readonly preemption: Preemption | null;
};

export type ImportJob = Omit<Schemas["Import"], "report" | "error"> & {
  readonly report: Readonly<Record<string, unknown>> | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly extra?: Readonly<Record<string, unknown>>;
  } | null;
};

export type ClusterSummary = Schemas["Cluster"];
export type PaceRequest = Schemas["PaceChangeRequest"];
export type PodDetail = Schemas["Pod"];
export type NodeDetail = Schemas["Node"];
export type SchedulerConfig = Schemas["SchedulerConfig"];
export type SchedulerConfigVersion = Schemas["SchedulerConfigVersion"];
