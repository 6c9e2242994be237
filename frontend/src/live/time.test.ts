import { describe, expect, it } from "vitest";
import type { Clock } from "../contract/api.gen";
import { CLUSTER } from "./__fixtures__/cluster";
import { type ClusterTime, clocked, framed, LEAD_MS, passingOf, timeAt, timeThen } from "./time";

const REAL = CLUSTER;
const FACTOR = { ...CLUSTER, clock_mode: "factor", clock_rate: 60 } as const;
const FAST = { ...CLUSTER, clock_mode: "fast" } as const;
const SKIP = { ...CLUSTER, clock_until_us: 9_000_000_000 } as const;
const answer = (nowMs: number, more: Partial<Clock> = {}): Clock => ({
  mode: "factor",
  rate: 60,
  now_us: nowMs * 1000,
  wall_us: 0,
  until_us: null,
  next_due_us: null,
  waits_for_scheduler: false,
  ...more,
});

describe("between two messages", () => {
  it.each([
    ["real time goes on as this computer's", REAL, 10_000, 10_000],
    ["a clock with a rate goes on at it", FACTOR, 100, 6_000],
    ["but not far", FACTOR, 3_600_000, LEAD_MS],
    ["one that is as fast as possible stands", FAST, 1_000, 0],
    ["one that skips stands", SKIP, 1_000, 0],
  ])("%s", (_what, settings, passed, want) => {
    const time = framed(null, 500_000, 7_000, settings);
    expect(timeAt(time, 7_000 + passed) - 500_000).toBe(want);
  });

  it("never goes past what is due next, nor on while the scheduler is waited for", () => {
    expect(timeAt(clocked(null, answer(1_000, { next_due_us: 5_000_000 }), 0), 1_000)).toBe(5_000);
    expect(timeAt(clocked(null, answer(1_000, { waits_for_scheduler: true }), 0), 1_000)).toBe(1_000);
  });
});

describe("what is shown", () => {
  it("never goes back, whatever clock and whatever messages", () => {
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 200; round += 1) {
      let time: ClusterTime | null = null;
      let [wall, truth, shown] = [1_000_000, 5_000_000, 0];
      for (let step = 0; step < 50; step += 1) {
        const settings = [REAL, FACTOR, FAST, SKIP][random(4)] ?? REAL;
        const passed = random(1_500);
        const { rate } = passingOf(settings);
        wall += passed;
        // A busy cluster is slower than its rate; one without a rate goes as it can.
        truth += rate ? (passed * rate * (rate === 1 ? 100 : random(101))) / 100 : random(3_600_000);
        if (time) {
          expect(timeAt(time, wall)).toBeGreaterThanOrEqual(shown);
          shown = timeAt(time, wall);
        }
        const said: number = truth - random(200); // it was read a moment ago
        time =
          random(3) || settings === REAL
            ? framed(time, said, wall, settings)
            : clocked(
                time,
                answer(said, {
                  mode: settings.clock_mode,
                  rate: settings.clock_rate,
                  until_us: settings.clock_until_us,
                }),
                wall,
              );
        expect(timeAt(time, wall)).toBeGreaterThanOrEqual(shown);
        shown = timeAt(time, wall);
      }
    }
  });

  it("is set anew when this computer's clock was wrong by an hour", () => {
    const before = framed(null, 500_000, 7_000, REAL);
    const after = framed(before, 501_000, 7_000 + 3_600_000, REAL);
    expect(timeAt(after, 7_000 + 3_600_000) - 501_000).toBeLessThan(20_000);
  });

  it("jumps with the cluster: an hour that passed at once is there with its frame", () => {
    const before = framed(null, 500_000, 7_000, SKIP);
    expect(timeAt(framed(before, 500_000 + 3_600_000, 7_100, SKIP), 7_100)).toBe(500_000 + 3_600_000);
  });

  it("is the same value for frames that agree with real time, so that nothing is drawn again", () => {
    const before = framed(null, 500_000, 7_000, REAL);
    expect(framed(before, 501_020, 8_000, REAL)).toBe(before);
    expect(framed(before, 502_000, 8_000, REAL)).not.toBe(before);
  });

  it("does not heed an answer that is older than what was said since", () => {
    const time = framed(null, 500_000, 7_000, FACTOR);
    expect(clocked(time, answer(400_000), 6_000)).toBe(time);
  });
});

describe("what is known", () => {
  it("ends with the last frame: an answer of the clock may be ahead of frames that are on their way", () => {
    const frame = framed(null, 500_000, 7_000, FACTOR);
    const first = clocked(frame, answer(560_000), 8_000);
    expect(first.known).toBe(500_000);
    expect(clocked(first, answer(620_000), 9_000).known).toBe(560_000);
    expect(framed(first, 580_000, 8_100, FACTOR).known).toBe(580_000);
  });

  it("at a moment before the last message is real time's alone", () => {
    expect(timeThen(framed(null, 500_000, 7_000, REAL), 2_000)).toBe(495_000);
    expect(timeThen(framed(null, 500_000, 7_000, FACTOR), 2_000)).toBe(500_000);
  });
});
