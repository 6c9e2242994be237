/** What the REST calls answer, in the words the views use. */
import type { ClusterView, LifecycleMode, Pace } from "../contract/events.gen";
import type { components } from "../contract/rest.gen";

export type ClusterSummary = ClusterView;

export interface PaceRequest {
  readonly pace: Pace;
  readonly rate?: number;
  readonly steps?: number;
}

export type Result = "scheduled" | "unschedulable" | "error" | "skipped" | "noProfile";

export interface Rejection {
  readonly plugin: string;
  readonly reason: string;
  readonly code: string | number;
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

export interface AttemptSummary {
  readonly seq: number;
  readonly attempt: number;
  readonly result: Result;
  readonly node_name: string;
  readonly nominated_node_name: string | null;
  readonly message: string;
  readonly started_at: string;
  readonly duration_us: number;
  readonly evaluated: number;
  readonly feasible: number;
  readonly rejections: readonly Rejection[];
  readonly best: readonly BestNode[];
  readonly preemption: Preemption | null;
  readonly repeat_count: number;
  readonly last_seen_at: string;
}

export type AttemptDetail = AttemptSummary;

export interface PodDetail {
  readonly manifest: Readonly<Record<string, unknown>>;
}

export interface NodeDetail {
  readonly manifest: Readonly<Record<string, unknown>>;
}

export interface ImportJob {
  readonly id: string;
  readonly status: "queued" | "running" | "done" | "failed";
  readonly report: Readonly<Record<string, unknown>> | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly extra?: Readonly<Record<string, unknown>>;
  } | null;
}

export type SchedulerConfig = components["schemas"]["SchedulerConfig"];
export type SchedulerConfigVersion = components["schemas"]["SchedulerConfigVersion"];

export type { LifecycleMode };
