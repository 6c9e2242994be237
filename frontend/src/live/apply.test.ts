import { describe, expect, it } from "vitest";
import type { AttemptView, CacheMoved, Frame, LiveEvent, PodView, Snapshot } from "../contract/api.gen";
import { livePod, liveState, queuedPod } from "./__fixtures__/state";
import { applyEvent, applyFrame } from "./apply";
import { ENDED_KEPT, KEPT, type State } from "./state";

const NODE = {
  name: "n1",
  zone: "a",
  cpu_milli: 4000,
  memory_bytes: 8,
  pods: 10,
  extended: {},
  unschedulable: false,
  ready: true,
  taints: [],
  drain: "",
} as const;
const EVENT = { seq: 0, type: "Normal", reason: "r", note: "", key: "n1", at_ms: 1, count: 1, kind: "Node", name: "e" };
const STEP = { type: "step", seq: 0, step: 0, cycles: 0, kind: "apply", at_ms: 0, results: {}, queued: null } as const;

const pod = (name: string, more: Partial<PodView> = {}) =>
  livePod(name, { requests: { cpu: 500, memory: 2 }, ...more });

const start = (more: Partial<Snapshot> = {}): State =>
  liveState({
    cursor: [10, 20],
    nodes: [NODE],
    throughput: {
      seconds: 1,
      since_ms: 0,
      until_ms: 4_000,
      carried: { at_ms: -5_000, run: 7, results: {}, bound: 0, queued: null },
      points: [],
    },
    ...more,
  });

/** Pod `a` as the scheduler's cache has it on n1. */
const cached = (seq: number, kind: CacheMoved["kind"]): LiveEvent => ({
  type: "cache_move",
  seq,
  uid: "a",
  key: "default/a",
  node: "n1",
  kind,
  at_ms: 7,
  attempts: 0,
});

function frame(from: Frame["from"], to: Frame["to"], events: readonly LiveEvent[] = []): Frame {
  return { type: "frame", from, to, at: 5_000, events };
}

function applied(state: State, last: Frame): State {
  const found = applyFrame(state, last);
  if (found.kind !== "applied") throw new Error(found.kind);
  return found.state;
}

describe("applyFrame", () => {
  it("drops a frame that has been seen", () => {
    const state = start();
    expect(applyFrame(state, frame([8, 18], [10, 20]))).toEqual({ kind: "seen", state });
  });

  it.each([
    ["change log", frame([11, 20], [12, 20])],
    ["engine log", frame([10, 21], [10, 22])],
  ])("says that there is a gap in the %s", (_log, after) => {
    expect(applyFrame(start(), after).kind).toBe("gap");
  });

  it.each(["rebuild", "config"] as const)("asks for a new snapshot after a %s, but only once", (kind) => {
    const rebuilt = frame([10, 20], [10, 22], [{ ...STEP, seq: 22, kind }]);
    expect(applyFrame(start(), rebuilt).kind).toBe("gap");
    expect(applyFrame(start({ cursor: [9, 22] }), { ...rebuilt, from: [9, 20] }).kind).toBe("applied");
  });

  it("applies only what lies beyond the cursor when a frame overlaps", () => {
    const state = applied(
      start(),
      frame(
        [9, 19],
        [11, 21],
        [
          { type: "pod_put", rv: 10, pod: pod("old") },
          { type: "pod_put", rv: 11, pod: pod("new") },
          { type: "queue_move", seq: 20, move: queuedPod("old") },
          { type: "queue_move", seq: 21, move: queuedPod("new") },
        ],
      ),
    );
    expect([...state.pods.keys()]).toEqual(["new"]);
    expect([...state.queue.keys()]).toEqual(["new"]);
    expect(state.cursor).toEqual([11, 21]);
  });

  it("moves the cursor over entries that browsers are not told of", () => {
    expect(applied(start(), frame([10, 20], [13, 20])).cursor).toEqual([13, 20]);
  });

  it("counts what steps and bindings tell, by the second they tell", () => {
    const put: LiveEvent = { type: "pod_put", rv: 11, pod: pod("imported", { node: "n1" }) };
    const queued = { active: 1, backoff: 2, unschedulable: 3, gated: 4 };
    const step = (seq: number, at_ms: number, results: Record<string, number>): LiveEvent => {
      return { type: "step", seq, step: seq, cycles: 1, kind: "apply", at_ms, results, queued };
    };
    const state = applied(
      start(),
      frame(
        [10, 20],
        [12, 23],
        [
          put,
          step(21, 4_100, { scheduled: 2 }),
          { type: "pod_bound", rv: 12, uid: "a", at_ms: 4_900 },
          step(22, 4_800, { scheduled: 1, error: 1 }),
          step(23, 5_000, {}),
        ],
      ),
    );
    // A pod that came with its node was not bound here.
    expect(state.throughput.points).toEqual([
      { at_ms: 4_000, run: 7, results: { scheduled: 3, error: 1 }, bound: 1, queued },
      { at_ms: 5_000, run: 7, results: {}, bound: 0, queued },
    ]);
  });
});

describe("applyEvent", () => {
  it("leaves the state before it as it was", () => {
    const before = start({ pods: [pod("a", { node: "n1" })] });
    const after = applyEvent(before, { type: "pod_deleted", rv: 11, uid: "a", key: "default/a" });
    expect(before.pods.size).toBe(1);
    expect(before.usage.get("n1")?.resources.cpu).toBe(500);
    expect(after.pods.size).toBe(0);
    expect(after.usage.has("n1")).toBe(false);
  });

  it("counts an event that is seen again where it stands", () => {
    const noted = (seq: number): LiveEvent => ({ type: "event", seq, event: { ...EVENT, seq } });
    const before = applyEvent(applyEvent(start(), noted(21)), noted(22));
    const counts = [{ seq: 21, count: 3 }];
    const after = applyEvent(before, { type: "events_counted", seq: 23, counts, at_ms: 9 });
    expect(after.events.map(({ seq, count, at_ms }) => [seq, count, at_ms])).toEqual([
      [21, 3, 9],
      [22, 1, 1],
    ]);
    expect(before.events.map((event) => event.count)).toEqual([1, 1]);
  });

  it("keeps the identity of what did not change", () => {
    const before = start();
    const after = applyEvent(before, { type: "pod_put", rv: 11, pod: pod("a") });
    expect(after.nodes).toBe(before.nodes);
    expect(after.queue).toBe(before.queue);
    expect(after.pods).not.toBe(before.pods);
  });

  it("lets an assumed pod take room once, from assume through binding to confirmation", () => {
    let state = start({ pods: [pod("a")] });
    const used = () => state.usage.get("n1")?.resources.cpu ?? 0;
    state = applyEvent(state, cached(21, "assumed"));
    expect(used()).toBe(500);
    state = applyEvent(state, { type: "queue_move", seq: 22, move: queuedPod("a", { queue: "assumed", node: "n1" }) });
    expect(used()).toBe(500);
    state = applyEvent(state, { type: "pod_put", rv: 11, pod: pod("a", { node: "n1" }) });
    expect(used()).toBe(500);
    state = applyEvent(state, cached(23, "confirmed"));
    expect(used()).toBe(500);
    expect(state.assumed.size).toBe(0);
    expect(state.queue.size).toBe(0);
  });

  it("shows an assumed pod as being bound", () => {
    const state = applyEvent(start({ pods: [pod("a")], queue: [queuedPod("a")] }), cached(22, "assumed"));
    expect(state.queue.get("a")).toMatchObject({ queue: "assumed", node: "n1", since_ms: 7 });
  });

  it("keeps a forgotten pod in the queue it was put back to", () => {
    const before = start({ pods: [pod("a")], queue: [queuedPod("a", { queue: "backoff" })] });
    const state = applyEvent(before, cached(22, "forgotten"));
    expect(state.queue.get("a")?.queue).toBe("backoff");
  });

  it.each<[string, LiveEvent]>([
    ["is forgotten", cached(22, "forgotten")],
    ["goes back to a queue", { type: "queue_move", seq: 22, move: queuedPod("a", { queue: "backoff" }) }],
  ])("gives room back when a pod %s", (_what, last) => {
    const assumed = applyEvent(start({ pods: [pod("a")] }), cached(21, "assumed"));
    expect(applyEvent(assumed, last).usage.has("n1")).toBe(false);
  });

  it("frees the room of a pod that has ended", () => {
    const state = applyEvent(start({ pods: [pod("a", { node: "n1", phase: "Running" })] }), {
      type: "pod_put",
      rv: 11,
      pod: pod("a", { node: "n1", phase: "Succeeded" }),
    });
    expect(state.usage.has("n1")).toBe(false);
  });

  it("counts what is pending", () => {
    let state = start({ pods: [pod("a"), pod("b", { node: "n1" }), pod("c", { phase: "Failed" })] });
    expect(state.pending).toBe(1);
    state = applyEvent(state, { type: "pod_put", rv: 11, pod: pod("d") });
    expect(state.pending).toBe(2);
    state = applyEvent(state, { type: "pod_deleted", rv: 12, uid: "a", key: "default/a" });
    expect(state.pending).toBe(1);
  });

  it("finds the new pod when a name is used again before the old pod's deletion is told", () => {
    let state = start({ pods: [pod("a")] });
    state = applyEvent(state, { type: "pod_put", rv: 11, pod: pod("a", { uid: "second" }) });
    state = applyEvent(state, { type: "pod_deleted", rv: 12, uid: "a", key: "default/a" });
    expect(state.uids.get("default/a")).toBe("second");
  });

  const attempted = (seq: number, number: number): AttemptView => ({
    seq,
    uid: "u",
    key: "default/a",
    attempt: number,
    result: "unschedulable",
    node: "",
    message: "",
    evaluated: 1,
    feasible: 0,
    duration_us: 1,
    at_ms: number,
  });

  it("keeps the newest attempts only", () => {
    let state = start();
    for (let seq = 1; seq <= KEPT + 5; seq += 1)
      state = applyEvent(state, { type: "attempt", seq, attempt: attempted(seq, seq) });
    expect(state.attempts.length).toBe(KEPT);
    expect(state.attempts[0]?.seq).toBe(6);
  });

  it("has of equal attempts the last, in the place of the first", () => {
    const [first, other, again] = [attempted(21, 1), attempted(22, 1), attempted(21, 2)];
    const made = [first, other, again, attempted(9, 7)]; // the last repeats one that is not kept
    const state = made.reduce(
      (before, attempt, index) => applyEvent(before, { type: "attempt", seq: 21 + index, attempt }),
      start(),
    );
    expect(state.attempts).toEqual([again, other]);
  });

  it("keeps the newest events about pods, and apart from them the newest about others", () => {
    let state = start();
    for (let number = 0; number < 2 * KEPT + 10; number += 1) {
      const isPod = number % 2 === 0;
      const event = { ...EVENT, kind: isPod ? (number % 4 ? "Job" : "Pod") : "Node", name: `default/e${number}` };
      state = applyEvent(state, { type: "event_put", rv: 11 + number, event });
    }
    for (let number = 0; number < KEPT; number += 1)
      state = applyEvent(state, {
        type: "event",
        seq: 21 + number,
        event: { ...EVENT, kind: "Pod", seq: 21 + number, name: "" },
      });
    expect(state.events.filter((event) => event.kind === "Pod").map((event) => event.seq)).toEqual(
      Array.from({ length: KEPT }, (_, number) => 21 + number),
    );
    const others = state.events.filter((event) => event.kind === "Node");
    expect([others.length, others[0]?.name]).toEqual([KEPT, "default/e11"]);
  });

  it("counts an event that is written again where it stands", () => {
    let state = start();
    for (const name of ["default/a", "default/b"])
      state = applyEvent(state, { type: "event_put", rv: 11, event: { ...EVENT, name } });
    const before = state.events;
    state = applyEvent(state, { type: "event_put", rv: 13, event: { ...EVENT, name: "default/a", count: 2 } });
    expect(state.events.map(({ name, count }) => [name, count])).toEqual([
      ["default/a", 2],
      ["default/b", 1],
    ]);
    expect(before.map(({ count }) => count)).toEqual([1, 1]);
  });

  it("notes where a workload changed last, and no other object", () => {
    let state = start();
    state = applyEvent(state, { type: "object_put", rv: 11, kind: "Deployment", key: "default/web" });
    state = applyEvent(state, { type: "object_put", rv: 12, kind: "ConfigMap", key: "default/web" });
    expect(state.workloads).toBe(11);
    state = applyEvent(state, { type: "object_deleted", rv: 13, kind: "Job", key: "default/job" });
    expect(state.workloads).toBe(13);
  });

  it("does not remember ended pods without end", () => {
    let state = start();
    for (let index = 0; index <= ENDED_KEPT; index += 1)
      state = applyEvent(state, { type: "pod_put", rv: 11 + index, pod: pod(`p${index}`, { phase: "Succeeded" }) });
    expect(state.pods.size).toBe(ENDED_KEPT / 2);
    expect(state.pods.has(`p${ENDED_KEPT}`)).toBe(true);
  });
});
