/** Which pods wait where, in the order in which they will be taken. */
import type { Cluster, PodView, QueueView } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { isPending, type State } from "../live/state";

type QueueLane = "active" | "backoff" | "unschedulable" | "gated" | "binding";
export type Lane = QueueLane | "noProfile";
export const LANES: readonly Lane[] = ["active", "backoff", "unschedulable", "gated", "binding", "noProfile"];

/** Where a pending pod is. */
export type Part = Lane | "unseen";
const PARTS: readonly Part[] = [...LANES, "unseen"];

export interface Waiting {
  readonly lane: Lane;
  readonly view: QueueView;
  readonly pod: PodView | undefined; // as it was when it came here; its priority does not change
}

export function laneOf(queue: QueueView["queue"]): QueueLane | null {
  switch (queue) {
    case "active":
    case "unschedulable":
    case "gated":
      return queue;
    case "backoff":
    case "errorBackoff":
      return "backoff";
    case "waiting":
    case "assumed":
      return "binding";
    case "":
      return null;
    default:
      queue satisfies never;
      return null;
  }
}

/** Whether the scheduler leaves the pod to others; it has to be known which profiles there are. */
export function hasNoProfile(
  { profiles }: Pick<Cluster, "profiles">,
  { scheduler }: Pick<PodView, "scheduler">,
): boolean {
  return profiles.length > 0 && !profiles.includes(scheduler);
}

/** How many of the pending pods are where, without places where there are none. They add up to all of them. */
export function pendingParts(state: State): readonly (readonly [Part, number])[] {
  const counts = new Map<Part, number>();
  const count = (part: Part): void => {
    counts.set(part, (counts.get(part) ?? 0) + 1);
  };
  for (const view of state.queue.values()) {
    const pod = state.pods.get(view.uid);
    const lane = laneOf(view.queue);
    if (lane && pod && isPending(pod)) count(lane);
  }
  for (const pod of state.unqueued.values()) count(hasNoProfile(state.cluster, pod) ? "noProfile" : "unseen");
  return PARTS.flatMap((part) => {
    const number = counts.get(part);
    return number ? [[part, number] as const] : [];
  });
}

export type Lanes = Readonly<Record<Lane, readonly Waiting[]>>;
export const NO_LANES: Lanes = { active: [], backoff: [], unschedulable: [], gated: [], binding: [], noProfile: [] };

/**
 * The lanes of now. Given the lanes of `before` it starts from their order, which is nearly the new one already:
 * with thousands of pods and ten frames a second that is the difference between smooth and not.
 */
export function lanesOf(state: State, before: Lanes = NO_LANES): Lanes {
  const lanes: Record<Lane, Waiting[]> = {
    active: [],
    backoff: [],
    unschedulable: [],
    gated: [],
    binding: [],
    noProfile: unclaimedOf(state),
  };
  const kept = new Set<QueueView>();
  for (const lane of LANES) {
    for (const waiting of before[lane]) {
      const pod = state.pods.get(waiting.view.uid);
      if (state.queue.get(waiting.view.uid) !== waiting.view || !pod) continue;
      lanes[lane].push(pod === waiting.pod ? waiting : { lane, view: waiting.view, pod });
      kept.add(waiting.view);
    }
  }
  for (const view of state.queue.values()) {
    const lane = kept.has(view) ? null : laneOf(view.queue);
    if (lane) lanes[lane].push({ lane, view, pod: state.pods.get(view.uid) });
  }
  lanes.active.sort(byPriority);
  lanes.backoff.sort((a, b) => (a.view.backoff_until_ms ?? 0) - (b.view.backoff_until_ms ?? 0) || bySince(a, b));
  lanes.unschedulable.sort((a, b) => Number(isNominated(b)) - Number(isNominated(a)) || bySince(a, b));
  for (const lane of ["gated", "binding"] as const) lanes[lane].sort(bySince);
  return lanes;
}

/** Pods that no profile has, the oldest first: in no queue, as long as they are there. */
function unclaimedOf(state: State): Waiting[] {
  const pods = [...state.unqueued.values()].filter((pod) => hasNoProfile(state.cluster, pod));
  const waiting = pods.map((pod): Waiting => ({ lane: "noProfile", view: outside(pod), pod }));
  return waiting.sort(bySince);
}

const outside = ({ uid, key, created_ms: since_ms }: PodView): QueueView => ({
  uid,
  key,
  queue: "",
  event: "",
  since_ms,
  attempts: 0,
  backoff_until_ms: null,
  plugins: [],
  node: "",
  hint: "",
});

/** Whether a row has the words in its name, its node, its profile, or what holds it back, whatever their case. */
export function isAbout({ view, pod }: Waiting, words: string): boolean {
  const texts = [view.key, view.node, pod?.nominated, pod?.scheduler, view.event, ...view.plugins];
  const text = texts.join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(" ")
    .every((word) => text.includes(word));
}

/** The pod's priority, where it has one, as rows show it. */
export const priorityOf = ({ pod }: Waiting): string => (pod?.priority ? `P${i18n.number(pod.priority)}` : "");

/** How often it was tried, from twice on. */
export const triesOf = ({ view }: Waiting): string => (view.attempts > 1 ? `×${i18n.number(view.attempts)}` : "");

/** Room is being made for the pod on a node: it will not wait long. */
export function isNominated({ pod }: Waiting): boolean {
  return pod !== undefined && pod.nominated !== "" && pod.node === "";
}

export const PREEMPTION = "DefaultPreemption";

/** Nothing but its own preemption holds it: it is in the queue of gated pods until its victims are evicted. */
export function isPreempting(view: QueueView, pod: Pick<PodView, "gated"> | undefined): boolean {
  return view.queue === "gated" && pod?.gated !== true && view.plugins.includes(PREEMPTION);
}

/** The active queue's order: higher priority first, then who has waited longest. */
function byPriority(a: Waiting, b: Waiting): number {
  return (b.pod?.priority ?? 0) - (a.pod?.priority ?? 0) || bySince(a, b);
}

function bySince(a: Waiting, b: Waiting): number {
  return a.view.since_ms - b.view.since_ms || (a.view.key < b.view.key ? -1 : a.view.key > b.view.key ? 1 : 0);
}
