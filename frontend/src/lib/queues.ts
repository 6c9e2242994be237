/** The lanes of the dashboard: which pods wait where, in the order in which they will be taken. */
import type { PodView, QueueView } from "../contract/api.gen";
import type { State } from "../live/state";

export type Lane = "active" | "backoff" | "unschedulable" | "gated" | "binding";
export const LANES: readonly Lane[] = ["active", "backoff", "unschedulable", "gated", "binding"];

export interface Waiting {
  readonly view: QueueView;
  readonly pod: PodView | undefined; // as it was when it came here; its priority does not change
}

export function laneOf(queue: QueueView["queue"]): Lane | null {
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

export type Lanes = Readonly<Record<Lane, readonly Waiting[]>>;
export const NO_LANES: Lanes = { active: [], backoff: [], unschedulable: [], gated: [], binding: [] };

/**
 * The lanes of now. Given the lanes of `before` it starts from their order, which is nearly the new one already:
 * with thousands of pods and ten frames a second that is the difference between smooth and not.
 */
export function lanesOf(state: State, before: Lanes = NO_LANES): Lanes {
  const lanes: Record<Lane, Waiting[]> = { active: [], backoff: [], unschedulable: [], gated: [], binding: [] };
  const kept = new Set<QueueView>();
  for (const lane of LANES) {
    for (const waiting of before[lane]) {
      const pod = state.pods.get(waiting.view.uid);
      if (state.queue.get(waiting.view.uid) !== waiting.view || !pod) continue;
      lanes[lane].push(pod === waiting.pod ? waiting : { view: waiting.view, pod });
      kept.add(waiting.view);
    }
  }
  for (const view of state.queue.values()) {
    const lane = kept.has(view) ? null : laneOf(view.queue);
    if (lane) lanes[lane].push({ view, pod: state.pods.get(view.uid) });
  }
  lanes.active.sort(byPriority);
  lanes.backoff.sort((a, b) => (a.view.backoff_until_ms ?? 0) - (b.view.backoff_until_ms ?? 0) || bySince(a, b));
  lanes.unschedulable.sort((a, b) => Number(isNominated(b)) - Number(isNominated(a)) || bySince(a, b));
  for (const lane of ["gated", "binding"] as const) lanes[lane].sort(bySince);
  return lanes;
}

/** Room is being made for the pod on a node: it will not wait long. */
export function isNominated({ pod }: Waiting): boolean {
  return pod !== undefined && pod.nominated !== "" && pod.node === "";
}

/** The active queue's order: higher priority first, then who has waited longest. */
function byPriority(a: Waiting, b: Waiting): number {
  return (b.pod?.priority ?? 0) - (a.pod?.priority ?? 0) || bySince(a, b);
}

function bySince(a: Waiting, b: Waiting): number {
  return a.view.since_ms - b.view.since_ms || (a.view.key < b.view.key ? -1 : a.view.key > b.view.key ? 1 : 0);
}
