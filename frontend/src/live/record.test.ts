/** The record of a real engine (tests/web/live/test_record.py): a snapshot and the events after it are the later one. */
import { expect, it } from "vitest";
import type { Frame, Snapshot } from "../contract/api.gen";
import contract from "./__fixtures__/contract.json";
import { applyEvent, applyFrame } from "./apply";
import { fromSnapshot, type State } from "./state";

const frames = contract.frames as unknown as readonly Frame[];
const snapshots = contract.snapshots as unknown as readonly Snapshot[];
const last = snapshots.at(-1) as Snapshot;

function byKey<T>(items: Iterable<T>, key: (item: T) => string): readonly T[] {
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** What both ways must agree on, in an order of its own. */
function essence(state: State) {
  const pods = [...state.pods.values()];
  return {
    cursor: state.cursor,
    cluster: state.cluster,
    nodes: byKey(state.nodes.values(), (node) => node.name),
    pods: byKey(pods, (pod) => pod.uid),
    // The hint that moved a pod is told live and not kept.
    queue: byKey(state.queue.values(), (view) => view.uid).map((view) => ({ ...view, hint: "" })),
    assumed: byKey(state.assumed, ([uid]) => uid),
    usage: byKey(state.usage, ([node]) => node).map(([node, usage]) => [
      node,
      Object.entries(usage.resources)
        .filter(([, amount]) => amount !== 0)
        .sort(),
      [...usage.uids].sort(),
    ]),
    attempts: state.attempts,
    events: byKey(state.events, (event) => String(event.seq).padStart(9, "0") + event.name),
    pending: state.pending,
    unqueued: byKey(state.unqueued.keys(), (uid) => uid),
    ended: state.ended,
    throughput: state.throughput.points,
  };
}

function play(from: Snapshot, frames: readonly Frame[]): State {
  let state = fromSnapshot(from);
  for (const frame of frames) {
    const applied = applyFrame(state, frame);
    if (applied.kind === "gap") throw new Error(`gap at ${frame.from} from ${state.cursor}`);
    state = applied.state;
  }
  return state;
}

it.each(snapshots.map((snapshot, index) => [index, snapshot] as const))(
  "makes the last snapshot of snapshot %d and the frames after it",
  (_index, snapshot) => {
    expect(essence(play(snapshot, frames))).toEqual(essence(fromSnapshot(last)));
  },
);

it("comes through the snapshot between, with pods assumed and not yet bound", () => {
  const between = snapshots[1] as Snapshot;
  expect(between.queue.some((view) => view.queue === "assumed")).toBe(true);
  const until = frames.filter((frame) => frame.from[0] < between.cursor[0] || frame.from[1] < between.cursor[1]);
  const state = until
    .flatMap((frame) => frame.events)
    .filter((event) => ("rv" in event ? event.rv <= between.cursor[0] : event.seq <= between.cursor[1]))
    .reduce((state, event) => applyEvent(state, event), fromSnapshot(snapshots[0] as Snapshot));
  expect(essence({ ...state, cursor: between.cursor })).toEqual(essence(fromSnapshot(between)));
});

it("is not fooled: a frame left out is a gap", () => {
  expect(() => play(snapshots[0] as Snapshot, frames.slice(1))).toThrow("gap");
});
