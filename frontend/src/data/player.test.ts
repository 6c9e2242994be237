import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Frame, Snapshot } from "../contract/api.gen";
import contract from "../live/__fixtures__/contract.json";
import { fromSnapshot, type State } from "../live/state";
import { Player, type Speed } from "./player";

const frames = contract.frames as unknown as readonly Frame[];
const snapshots = contract.snapshots as unknown as readonly Snapshot[];
const first = fromSnapshot(snapshots[0] as Snapshot);
const last = fromSnapshot(snapshots.at(-1) as Snapshot);
const START = 1_000_000;

let shown: { state: State; time: number }[] = [];
let asked: (readonly number[])[] = [];
let ended: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  [shown, asked, ended] = [[], [], []];
});
afterEach(() => vi.useRealTimers());

/** One frame a second, from a second after the beginning. */
const timed = (from = frames): readonly Frame[] => from.map((frame, at) => ({ ...frame, at: START + (at + 1) * 1000 }));

function player(speed: Speed, all: readonly Frame[], pages = 2): Player {
  return new Player(first, START, speed, {
    frames: async (after) => {
      asked.push(after);
      const begins = all.findIndex((frame) => frame.from[0] === after[0] && frame.from[1] === after[1]);
      return begins < 0 ? [] : all.slice(begins, begins + pages);
    },
    snapshot: async (at) => ({ ...last, cursor: at }),
    show: (state, time) => shown.push({ state, time }),
    onEnd: (error) => ended.push(error),
  });
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("the player", () => {
  it("shows each frame when its time has come, and ends where nothing follows", async () => {
    const made = player(1, timed());
    await pass(900);
    expect(shown.at(-1)?.state.cursor).toEqual(first.cursor);
    await pass(200);
    expect(shown.at(-1)?.state.cursor).toEqual(frames[0]?.to);
    await pass(frames.length * 1000);
    expect(shown.at(-1)?.state.cursor).toEqual(last.cursor);
    expect([...(shown.at(-1)?.state.pods.keys() ?? [])].sort()).toEqual([...last.pods.keys()].sort());
    expect(ended).toEqual([null]);
    made.stop();
  });

  it.each([10, 100] as const)("goes %d times as fast", async (speed) => {
    const made = player(speed, timed());
    await pass((1000 / speed) * frames.length + 400);
    expect(shown.at(-1)?.state.cursor).toEqual(last.cursor);
    made.stop();
  });

  it("shows the snapshot of where a frame ends that cannot be applied", async () => {
    const all = timed(frames.slice(1)); // what the first one brought is missing
    const made = player(1, [{ ...(all[0] as Frame), from: first.cursor, events: [rebuilt(first)] }]);
    await pass(1200);
    expect(shown.at(-1)?.state.cursor).toEqual(all[0]?.to);
    made.stop();
  });

  it("says what keeps it from going on, and shows nothing more", async () => {
    const made = new Player(first, START, 1, {
      frames: () => Promise.reject(new Error("gone")),
      snapshot: () => Promise.reject(new Error("unasked")),
      show: (state, time) => shown.push({ state, time }),
      onEnd: (error) => ended.push(error),
    });
    await pass(500);
    expect(ended).toEqual([new Error("gone")]);
    const count = shown.length;
    await pass(500);
    expect(shown.length).toBe(count);
    made.stop();
  });

  it("asks for more before it has shown all", async () => {
    const made = player(1, timed());
    await pass(300);
    expect(asked.length).toBeGreaterThan(1);
    made.stop();
  });
});

function rebuilt(state: State): Frame["events"][number] {
  const seq = state.cursor[1] + 1;
  return { type: "step", seq, step: 1, cycles: 0, kind: "rebuild", at_ms: START, results: {}, queued: null };
}
