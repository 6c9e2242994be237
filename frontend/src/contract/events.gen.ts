// Written by `python -m kschedweb.live.contract` from kschedweb/live/events.py. Do not edit.

/** [rv, seq]: how far a reader has come in the change log and in the engine log. */
export type Cursor = readonly [rv: number, seq: number];

export type QueueName =
  | ""
  | "active"
  | "backoff"
  | "errorBackoff"
  | "unschedulable"
  | "gated"
  | "waiting"
  | "assumed";

export type CacheMove =
  | "assumed"
  | "confirmed"
  | "forgotten"
  | "waiting"
  | "finished";

export type Pace =
  | "run"
  | "slow"
  | "pause";

export type LifecycleMode =
  | "frozen"
  | "simulate";

export interface ClusterView {
  readonly id: number;
  readonly name: string;
  readonly lifecycle_mode: LifecycleMode;
  readonly pace: Pace;
  readonly pace_rate: number | null;
  readonly seed: number;
  readonly is_sample: boolean;
  readonly config_version: number;
  readonly leader: string | null;
  readonly scheduler_problem: string;
  readonly retention_hours: number;
  readonly retention_mb: number;
}

export interface NodeView {
  readonly name: string;
  readonly zone: string;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly pods: number;
  readonly extended: Readonly<Record<string, number>>;
  readonly unschedulable: boolean;
  readonly ready: boolean;
  readonly taints: readonly string[];
}

export interface PodView {
  readonly uid: string;
  readonly key: string;
  readonly node: string;
  readonly phase: string;
  readonly priority: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly deleting: boolean;
  readonly gated: boolean;
  readonly nominated: string;
  readonly reason: string;
  readonly created_ms: number;
  readonly scheduler: string;
}

export interface QueueView {
  readonly uid: string;
  readonly key: string;
  readonly queue: QueueName;
  readonly event: string;
  readonly since_ms: number;
  readonly attempts: number;
  readonly backoff_until_ms: number | null;
  readonly plugins: readonly string[];
  readonly node: string;
  readonly hint: string;
}

export interface AttemptView {
  readonly seq: number;
  readonly uid: string;
  readonly key: string;
  readonly attempt: number;
  readonly result: string;
  readonly node: string;
  readonly message: string;
  readonly evaluated: number;
  readonly feasible: number;
  readonly duration_us: number;
  readonly at_ms: number;
}

export interface EventView {
  readonly type: string;
  readonly seq: number;
  readonly reason: string;
  readonly note: string;
  readonly key: string;
  readonly at_ms: number;
  readonly count: number;
}

export interface QueueSizes {
  readonly active: number;
  readonly backoff: number;
  readonly unschedulable: number;
  readonly gated: number;
}

export interface ThroughputPoint {
  readonly at_ms: number;
  readonly run: number | null;
  readonly results: Readonly<Record<string, number>>;
  readonly bound: number;
  readonly queued: QueueSizes | null;
}

export interface Throughput {
  readonly seconds: number;
  readonly since_ms: number;
  readonly until_ms: number;
  readonly carried: ThroughputPoint | null;
  readonly points: readonly ThroughputPoint[];
}

export interface NodePut {
  readonly type: "node_put";
  readonly rv: number;
  readonly node: NodeView;
}

export interface NodeDeleted {
  readonly type: "node_deleted";
  readonly rv: number;
  readonly name: string;
}

export interface PodPut {
  readonly type: "pod_put";
  readonly rv: number;
  readonly pod: PodView;
}

export interface PodDeleted {
  readonly type: "pod_deleted";
  readonly rv: number;
  readonly uid: string;
  readonly key: string;
}

export interface PodBound {
  readonly type: "pod_bound";
  readonly rv: number;
  readonly uid: string;
  readonly at_ms: number;
}

export interface ObjectPut {
  readonly type: "object_put";
  readonly rv: number;
  readonly kind: string;
  readonly key: string;
}

export interface ObjectDeleted {
  readonly type: "object_deleted";
  readonly rv: number;
  readonly kind: string;
  readonly key: string;
}

export interface ClusterSetting {
  readonly type: "cluster_setting";
  readonly rv: number;
  readonly cluster: ClusterView;
}

export interface QueueMove {
  readonly type: "queue_move";
  readonly seq: number;
  readonly move: QueueView;
}

export interface CacheMoved {
  readonly type: "cache_move";
  readonly seq: number;
  readonly uid: string;
  readonly key: string;
  readonly node: string;
  readonly kind: CacheMove;
  readonly at_ms: number;
  readonly attempts: number;
}

export interface AttemptMade {
  readonly type: "attempt";
  readonly seq: number;
  readonly attempt: AttemptView;
}

export interface EventNoted {
  readonly type: "event";
  readonly seq: number;
  readonly event: EventView;
}

export interface EventCount {
  readonly seq: number;
  readonly count: number;
}

export interface EventsCounted {
  readonly type: "events_counted";
  readonly seq: number;
  readonly counts: readonly EventCount[];
  readonly at_ms: number;
}

export interface StepDone {
  readonly type: "step";
  readonly seq: number;
  readonly step: number;
  readonly cycles: number;
  readonly kind: "apply" | "rebuild" | "config";
  readonly at_ms: number;
  readonly results: Readonly<Record<string, number>>;
  readonly queued: QueueSizes | null;
}

export interface Hello {
  readonly type: "hello";
  readonly cursor: Cursor;
}

export interface Frame {
  readonly type: "frame";
  readonly from: Cursor;
  readonly to: Cursor;
  readonly at: number;
  readonly events: readonly LiveEvent[];
}

export interface Heartbeat {
  readonly type: "heartbeat";
}

export interface Snapshot {
  readonly cursor: Cursor;
  readonly cluster: ClusterView;
  readonly nodes: readonly NodeView[];
  readonly pods: readonly PodView[];
  readonly queue: readonly QueueView[];
  readonly events: readonly EventView[];
  readonly attempts: readonly AttemptView[];
  readonly throughput: Throughput;
  readonly pods_left_out: number;
}

export interface Column {
  readonly values: readonly unknown[];
  readonly rows: readonly number[] | null;
}

export interface SnapshotColumns {
  readonly cursor: Cursor;
  readonly cluster: ClusterView;
  readonly nodes: Readonly<Record<string, Column>>;
  readonly pods: Readonly<Record<string, Column>>;
  readonly queue: Readonly<Record<string, Column>>;
  readonly events: Readonly<Record<string, Column>>;
  readonly attempts: Readonly<Record<string, Column>>;
  readonly throughput: Throughput;
  readonly pods_left_out: number;
}

export type ChangeLogEvent =
  | NodePut
  | NodeDeleted
  | PodPut
  | PodDeleted
  | PodBound
  | ObjectPut
  | ObjectDeleted
  | ClusterSetting;

export type EngineLogEvent =
  | QueueMove
  | CacheMoved
  | AttemptMade
  | EventNoted
  | EventsCounted
  | StepDone;

export type LiveEvent =
  | NodePut
  | NodeDeleted
  | PodPut
  | PodDeleted
  | PodBound
  | ObjectPut
  | ObjectDeleted
  | ClusterSetting
  | QueueMove
  | CacheMoved
  | AttemptMade
  | EventNoted
  | EventsCounted
  | StepDone;

export type Message =
  | Hello
  | Frame
  | Heartbeat;
