/**
 * What a browser knows of a cluster: the snapshot, kept up by events. Immutable from outside; maps whose content did
 * not change keep their identity, so that views which depend on one of them are not drawn again for another's sake.
 */
import type {
  AttemptView,
  Cluster,
  Cursor,
  EventView,
  NodeView,
  PodView,
  QueueView,
  Snapshot,
  Throughput,
} from "../contract/api.gen";

export const KEPT = 200; // events and attempts, as many as a snapshot has
export const ENDED_KEPT = 2_000; // a page may stay open for days: of ended pods only so many are remembered

/** Whether there are events about objects of the kind for every pod: they push out no others. */
export function isFrequent({ kind }: EventView): boolean {
  return kind === "Pod" || kind === "ReplicaSet" || kind === "Job";
}

/** What the pods on a node ask for, assumed pods included. */
export interface Usage {
  readonly resources: Readonly<Record<string, number>>;
  readonly uids: ReadonlySet<string>;
}

export interface State {
  readonly cursor: Cursor;
  readonly cluster: Cluster;
  readonly nodes: ReadonlyMap<string, NodeView>;
  readonly pods: ReadonlyMap<string, PodView>; // by uid
  readonly uids: ReadonlyMap<string, string>; // by namespace/name
  readonly queue: ReadonlyMap<string, QueueView>; // by uid
  readonly unqueued: ReadonlyMap<string, PodView>; // by uid: those that are pending and not in the queue
  readonly assumed: ReadonlyMap<string, string>; // uid -> node, until confirmed or forgotten
  readonly usage: ReadonlyMap<string, Usage>; // by node
  readonly events: readonly EventView[]; // oldest first; at most KEPT of those that are frequent, and as many others
  readonly attempts: readonly AttemptView[]; // oldest first
  readonly ended: number; // pods that have ended
  readonly pending: number; // pods that have no node and have not ended
  readonly throughput: Throughput; // of the last five minutes, by seconds
  readonly workloads: number; // position in the change log of the last change of a workload; 0: none since the snapshot
}

export const EMPTY_USAGE: Usage = { resources: {}, uids: new Set() };

export function hasEnded(pod: PodView): boolean {
  return pod.phase === "Succeeded" || pod.phase === "Failed";
}

/** The node a pod takes room on, or "". */
export function placeOf(pod: PodView, assumed: ReadonlyMap<string, string>): string {
  return hasEnded(pod) ? "" : pod.node || assumed.get(pod.uid) || "";
}

export function isPending(pod: PodView): boolean {
  return !pod.node && !hasEnded(pod);
}

export function fromSnapshot(snapshot: Snapshot): State {
  const assumed = new Map<string, string>();
  for (const view of snapshot.queue) {
    if (view.node && (view.queue === "assumed" || view.queue === "waiting")) assumed.set(view.uid, view.node);
  }
  const usage = new Map<string, { resources: Record<string, number>; uids: Set<string> }>();
  const queue = new Map(snapshot.queue.map((view) => [view.uid, view]));
  const unqueued = new Map<string, PodView>();
  let pending = 0;
  let ended = 0;
  for (const pod of snapshot.pods) {
    if (isPending(pod)) pending += 1;
    if (isPending(pod) && !queue.has(pod.uid)) unqueued.set(pod.uid, pod);
    if (hasEnded(pod)) ended += 1;
    const node = placeOf(pod, assumed);
    if (!node) continue;
    let used = usage.get(node);
    if (!used) {
      used = { resources: {}, uids: new Set() };
      usage.set(node, used);
    }
    addRequests(used.resources, pod.requests, 1);
    used.uids.add(pod.uid);
  }
  return {
    cursor: snapshot.cursor,
    cluster: snapshot.cluster,
    nodes: new Map(snapshot.nodes.map((node) => [node.name, node])),
    pods: new Map(snapshot.pods.map((pod) => [pod.uid, pod])),
    uids: new Map(snapshot.pods.map((pod) => [pod.key, pod.uid])),
    queue,
    unqueued,
    assumed,
    usage,
    events: [...snapshot.events].sort((a, b) => a.at_ms - b.at_ms || a.seq - b.seq),
    attempts: [...snapshot.attempts].sort((a, b) => a.seq - b.seq),
    ended,
    pending,
    throughput: snapshot.throughput,
    workloads: 0,
  };
}

export function addRequests(
  into: Record<string, number>,
  requests: Readonly<Record<string, number>>,
  sign: 1 | -1,
): void {
  for (const [resource, amount] of Object.entries(requests)) into[resource] = (into[resource] ?? 0) + sign * amount;
}
