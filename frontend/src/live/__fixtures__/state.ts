/** A live cluster for tests, which say only what matters to them. */
import type { PodView, QueueView, Snapshot } from "../../contract/api.gen";
import { fromSnapshot, type State } from "../state";
import { CLUSTER } from "./cluster";

export const POD: PodView = {
  uid: "u1",
  key: "default/web",
  node: "",
  phase: "Pending",
  priority: 0,
  requests: {},
  deleting: false,
  gated: false,
  nominated: "",
  reason: "",
  created_ms: 0,
  scheduler: "default-scheduler",
};

/** That pod in its queue. */
export const QUEUED: QueueView = {
  uid: POD.uid,
  key: POD.key,
  queue: "active",
  event: "",
  since_ms: 0,
  attempts: 1,
  backoff_until_ms: null,
  plugins: [],
  node: "",
  hint: "",
};

const named = (name: string) => ({ uid: name, key: `default/${name}` });

/** A pod whose uid is its name. */
export const livePod = (name: string, more: Partial<PodView> = {}): PodView => ({ ...POD, ...named(name), ...more });

export const queuedPod = (name: string, more: Partial<QueueView> = {}): QueueView => ({
  ...QUEUED,
  ...named(name),
  ...more,
});

export const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  cursor: [1, 1],
  cluster: CLUSTER,
  nodes: [],
  pods: [],
  queue: [],
  events: [],
  attempts: [],
  throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
  pods_left_out: 0,
  ...more,
});

export const liveState = (more: Partial<Snapshot> = {}): State => fromSnapshot(snapshot(more));
