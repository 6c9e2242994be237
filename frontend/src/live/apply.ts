/**
 * How a frame changes the state: pure functions, the only writers of it.
 *
 * An event at or before the cursor has been seen and is skipped; a frame which begins past the cursor leaves a gap, and
 * only a new snapshot helps, as it does when the engine was rebuilt. Maps that change get a new version, one a frame: to copy
 * tens of thousands of pods ten times a second takes a good part of a processor.
 */
import type {
  AttemptView,
  CacheMoved,
  EventsCounted,
  EventView,
  Frame,
  LiveEvent,
  NodeView,
  PodView,
  QueueView,
  StepDone,
} from "../contract/api.gen";
import { isWorkload } from "../lib/workloads";
import {
  addRequests,
  ENDED_KEPT,
  hasEnded,
  isFrequent,
  isPending,
  KEPT,
  placeOf,
  type State,
  type Usage,
} from "./state";
import { addCounts, type Count } from "./throughput";
import { VersionedMap } from "./versioned";

export type Applied = { readonly kind: "applied" | "seen"; readonly state: State } | { readonly kind: "gap" };

export function applyFrame(state: State, frame: Frame): Applied {
  const [rv, seq] = state.cursor;
  if (frame.to[0] <= rv && frame.to[1] <= seq) return { kind: "seen", state };
  if (frame.from[0] > rv || frame.from[1] > seq) return { kind: "gap" };
  // A new engine, of a new configuration say, tells anew where every pod stands, and drops what the one before it said.
  if (frame.events.some((event) => event.type === "step" && event.kind !== "apply" && event.seq > seq))
    return { kind: "gap" };
  const draft = new Draft(state);
  for (const event of frame.events) {
    if ("rv" in event ? event.rv > rv : event.seq > seq) draft.apply(event);
  }
  return { kind: "applied", state: draft.finish([Math.max(rv, frame.to[0]), Math.max(seq, frame.to[1])]) };
}

/** One event, whatever the cursor says. */
export function applyEvent(state: State, event: LiveEvent): State {
  const draft = new Draft(state);
  draft.apply(event);
  return draft.finish(state.cursor);
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A state while it is being made: collections are the old ones until first written to. */
class Draft {
  private readonly state: Writable<State>;
  private readonly own = new Set<unknown>(); // collections that are this draft's
  private readonly counts = new Map<number, Count>(); // by the second they belong to, in ms

  constructor(state: State) {
    this.state = { ...state };
  }

  apply(event: LiveEvent): void {
    switch (event.type) {
      case "node_put":
        this.map<NodeView>("nodes").set(event.node.name, event.node);
        return;
      case "node_deleted":
        this.map<NodeView>("nodes").delete(event.name);
        return;
      case "pod_put":
        this.podPut(event.pod);
        return;
      case "pod_deleted":
        this.podDeleted(event.uid, event.key);
        return;
      case "pod_bound":
        this.countOf(event.at_ms).bound += 1;
        return;
      case "object_put":
      case "object_deleted":
        if (isWorkload(event.kind)) this.state.workloads = event.rv;
        return; // others move the cursor
      case "event_put":
        this.eventPut(event.event);
        return;
      case "cluster_setting":
        this.state.cluster = event.cluster;
        return;
      case "queue_move":
        this.queueMove(event.move);
        return;
      case "cache_move":
        this.cacheMove(event);
        return;
      case "attempt":
        this.attemptMade(event.attempt, event.seq);
        return;
      case "event":
        this.eventNoted(event.event);
        return;
      case "events_counted":
        this.count(event);
        return;
      case "step":
        this.stepDone(event);
        return;
      default:
        event satisfies never;
    }
  }

  finish(cursor: readonly [number, number]): State {
    this.state.cursor = cursor;
    this.state.throughput = addCounts(this.state.throughput, this.counts);
    if (this.state.ended > ENDED_KEPT) this.forgetEnded();
    return this.state;
  }

  private podPut(pod: PodView): void {
    const before = this.state.pods.get(pod.uid);
    this.map<PodView>("pods").set(pod.uid, pod);
    if (this.state.uids.get(pod.key) !== pod.uid) this.map<string>("uids").set(pod.key, pod.uid);
    this.state.pending += Number(isPending(pod)) - Number(before !== undefined && isPending(before));
    this.state.ended += Number(hasEnded(pod)) - Number(before !== undefined && hasEnded(before));
    this.moveRoom(before, this.state.assumed.get(pod.uid), pod, this.state.assumed.get(pod.uid));
    this.noteUnqueued(pod.uid);
  }

  private podDeleted(uid: string, key: string): void {
    const before = this.state.pods.get(uid);
    if (!before) return;
    this.moveRoom(before, this.state.assumed.get(uid), undefined, undefined);
    this.map<PodView>("pods").delete(uid);
    if (this.state.uids.get(key) === uid) this.map<string>("uids").delete(key);
    if (this.state.assumed.has(uid)) this.map<string>("assumed").delete(uid);
    this.state.pending -= Number(isPending(before));
    this.state.ended -= Number(hasEnded(before));
    this.noteUnqueued(uid);
  }

  /** Keeps up which pods are pending and not in the queue, after one of both changed. */
  private noteUnqueued(uid: string): void {
    const pod = this.state.pods.get(uid);
    const is = pod && isPending(pod) && !this.state.queue.has(uid) ? pod : undefined;
    if (this.state.unqueued.get(uid) === is) return;
    const own = this.map<PodView>("unqueued");
    if (is) own.set(uid, is);
    else own.delete(uid);
  }

  /** Drops the older half of the ended pods: those that came first. */
  private forgetEnded(): void {
    for (const pod of this.state.pods.values()) {
      if (this.state.ended <= ENDED_KEPT / 2) return;
      if (hasEnded(pod)) this.podDeleted(pod.uid, pod.key);
    }
  }

  private queueMove(view: QueueView): void {
    if (view.queue === "") this.map<QueueView>("queue").delete(view.uid);
    else this.map<QueueView>("queue").set(view.uid, view);
    const held = view.queue === "assumed" || view.queue === "waiting";
    if (held && view.node) this.assume(view.uid, view.node);
    else if (!held && view.queue !== "") this.assume(view.uid, "");
    this.noteUnqueued(view.uid);
  }

  /** A pod that is assumed or waits for Permit is shown beside the queues until it is bound or forgotten. */
  private cacheMove({ uid, key, node, kind, at_ms, attempts }: CacheMoved): void {
    if (kind === "assumed" || kind === "waiting") {
      this.assume(uid, node);
      const view = {
        uid,
        key,
        queue: kind,
        event: kind,
        since_ms: at_ms,
        attempts,
        backoff_until_ms: null,
        plugins: [],
        node,
        hint: "",
      };
      this.map<QueueView>("queue").set(uid, view);
      this.noteUnqueued(uid);
      return;
    }
    this.assume(uid, "");
    const queue = this.state.queue.get(uid)?.queue;
    if (queue === "assumed" || queue === "waiting") this.map<QueueView>("queue").delete(uid);
    this.noteUnqueued(uid);
  }

  private assume(uid: string, node: string): void {
    const before = this.state.assumed.get(uid);
    if ((before ?? "") === node) return;
    const pod = this.state.pods.get(uid);
    if (pod) this.moveRoom(pod, before, pod, node);
    if (node) this.map<string>("assumed").set(uid, node);
    else this.map<string>("assumed").delete(uid);
  }

  /** Takes a pod's requests from the node it was on and adds them where it is now. */
  private moveRoom(
    before: PodView | undefined,
    assumedBefore: string | undefined,
    after: PodView | undefined,
    assumed: string | undefined,
  ): void {
    const from = before ? placeOf(before, held(before.uid, assumedBefore)) : "";
    const to = after ? placeOf(after, held(after.uid, assumed)) : "";
    if (before && from) {
      const used = this.usage(from);
      addRequests(used.resources, before.requests, -1);
      used.uids.delete(before.uid);
      if (!used.uids.size) this.map<Usage>("usage").delete(from);
    }
    if (after && to) {
      const used = this.usage(to);
      addRequests(used.resources, after.requests, 1);
      used.uids.add(after.uid);
    }
  }

  private usage(node: string): { resources: Record<string, number>; uids: Set<string> } {
    const now = this.state.usage.get(node);
    if (now && this.own.has(now)) return now as { resources: Record<string, number>; uids: Set<string> };
    const copy = { resources: { ...now?.resources }, uids: new Set(now?.uids) };
    this.own.add(copy);
    this.map<Usage>("usage").set(node, copy);
    return copy;
  }

  private map<V>(name: "nodes" | "pods" | "uids" | "queue" | "unqueued" | "assumed" | "usage"): VersionedMap<V> {
    const now = this.state[name] as unknown as ReadonlyMap<string, V>;
    if (this.own.has(now)) return now as VersionedMap<V>;
    const made = new VersionedMap(now);
    this.own.add(made);
    Object.assign(this.state, { [name]: made });
    return made;
  }

  private append<T>(list: readonly T[], item: T): readonly T[] {
    let own = list as T[];
    if (!this.own.has(list)) {
      own = [...list];
      this.own.add(own);
    }
    own.push(item);
    if (own.length > KEPT) own.shift();
    return own;
  }

  /** One that repeats an earlier attempt names that one: it is not listed again, but stands in its place. */
  private attemptMade(attempt: AttemptView, seq: number): void {
    if (attempt.seq === seq) this.state.attempts = this.append(this.state.attempts, attempt);
    else if (this.state.attempts.some((one) => one.seq === attempt.seq))
      this.state.attempts = this.state.attempts.map((one) => (one.seq === attempt.seq ? attempt : one));
  }

  private eventNoted(event: EventView): void {
    const own = this.ownEvents();
    own.push(event);
    const isOfThese = (one: EventView): boolean => isFrequent(one) === isFrequent(event);
    let count = 0;
    for (const one of own) if (isOfThese(one)) count += 1;
    if (count > KEPT) own.splice(own.findIndex(isOfThese), 1);
  }

  /** One that was counted again stays where it is, as those of the scheduler do. */
  private eventPut(event: EventView): void {
    const place = this.state.events.findLastIndex((one) => one.name === event.name);
    if (place < 0) this.eventNoted(event);
    else this.ownEvents()[place] = event;
  }

  private ownEvents(): EventView[] {
    if (!this.own.has(this.state.events)) {
      this.state.events = [...this.state.events];
      this.own.add(this.state.events);
    }
    return this.state.events as EventView[];
  }

  /** Events seen again stay where they are, with the new count. */
  private count({ counts, at_ms }: EventsCounted): void {
    const bySeq = new Map(counts.map(({ seq, count }) => [seq, count]));
    const events = this.state.events.map((event) => {
      const count = event.seq ? bySeq.get(event.seq) : undefined;
      return count === undefined ? event : { ...event, count, at_ms };
    });
    this.own.add(events);
    this.state.events = events;
  }

  private stepDone({ at_ms, results, queued }: StepDone): void {
    const count = this.countOf(at_ms);
    for (const [result, times] of Object.entries(results)) count.results[result] = (count.results[result] ?? 0) + times;
    count.queued = queued ?? count.queued;
    count.stepped ||= queued !== null;
  }

  private countOf(at_ms: number): Count {
    const second = Math.floor(at_ms / 1000) * 1000;
    const known = this.counts.get(second);
    if (known) return known;
    const made: Count = { results: {}, bound: 0, queued: null, stepped: false };
    this.counts.set(second, made);
    return made;
  }
}

function held(uid: string, node: string | undefined): ReadonlyMap<string, string> {
  return node ? new Map([[uid, node]]) : NOTHING;
}

const NOTHING: ReadonlyMap<string, string> = new Map();
