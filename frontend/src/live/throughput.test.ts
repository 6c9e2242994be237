import { describe, expect, it } from "vitest";
import type { Throughput, ThroughputPoint } from "../contract/api.gen";
import { addCounts, columnsOf, LIVE_SECONDS, meanSeconds, ratesOf, slotsOf } from "./throughput";

const waiting = (unschedulable: number) => ({ active: 0, backoff: 0, unschedulable, gated: 0 });

function point(second: number, more: Partial<ThroughputPoint> = {}): ThroughputPoint {
  return { at_ms: second * 1000, run: 1, results: {}, bound: 0, queued: waiting(0), ...more };
}

function counted(points: readonly ThroughputPoint[], more: Partial<Throughput> = {}): Throughput {
  return { seconds: 1, since_ms: 0, until_ms: 100_000, carried: null, points, ...more };
}

/** [attempts, bound, pending] of each slot. */
function drawn(throughput: Throughput, from: number, to: number, known = to) {
  const slots = slotsOf(throughput, from * 1000, to * 1000, known * 1000);
  return slots.map((slot) => [slot.attempts, slot.bound, slot.pending]);
}

const UNKNOWN = [null, null, null];

describe("slotsOf", () => {
  it("draws nothing before the first thing that was counted", () => {
    const throughput = counted([point(12, { results: { scheduled: 2, error: 1 }, queued: waiting(5) })]);
    expect(drawn(throughput, 10, 14)).toEqual([UNKNOWN, UNKNOWN, [3, 0, 5], [0, 0, 5]]);
  });

  it("draws pending as it was, not as it is", () => {
    const throughput = counted([point(10, { queued: waiting(500) }), point(13, { queued: waiting(2) })]);
    expect(drawn(throughput, 10, 15).map(([, , pending]) => pending)).toEqual([500, 500, 500, 2, 2]);
  });

  it("goes on from what was before the span", () => {
    const carried = point(-900, { queued: waiting(7) });
    expect(drawn(counted([], { carried }), 10, 12)).toEqual([
      [0, 0, 7],
      [0, 0, 7],
    ]);
  });

  it("leaves a gap between two engines, and where the service keeps no such points", () => {
    const throughput = counted([point(10, { queued: waiting(4) }), point(13, { run: 2, queued: waiting(4) })]);
    expect(drawn(throughput, 10, 14)).toEqual([[0, 0, 4], UNKNOWN, UNKNOWN, [0, 0, 4]]);
    const cut = counted([], { since_ms: 11_000, carried: point(1) });
    expect(drawn(cut, 10, 12)).toEqual([UNKNOWN, [0, 0, 0]]);
  });

  it("ends where the newest engine was last known to be at work", () => {
    expect(drawn(counted([point(10)]), 10, 14, 11.5)).toEqual([[0, 0, 0], [0, 0, 0], UNKNOWN, UNKNOWN]);
  });

  it("tells of pods that were bound while no engine made a step", () => {
    const bound = point(11, { run: null, queued: null, bound: 3 });
    expect(drawn(counted([point(10, { queued: waiting(1) }), bound, point(12)]), 10, 13)).toEqual([
      [0, 0, 1],
      [0, 3, 1],
      [0, 0, 0],
    ]);
    expect(drawn(counted([point(10), bound, point(12, { run: 2 })]), 10, 13)[1]).toEqual([null, 3, null]);
  });
});

describe("columnsOf", () => {
  it("means five seconds, and of those only what is known", () => {
    const throughput = counted([point(10, { results: { scheduled: 10 } })]);
    const slots = slotsOf(throughput, 9_000, 16_000, 16_000);
    expect(columnsOf(throughput, slots, 16_000)[1]).toEqual([null, 10, 5, 10 / 3, 2.5, 2, 0]);
  });

  it("makes rates of minutes, of the one that runs over the time gone by", () => {
    const minutes = [point(0, { results: { scheduled: 120 } }), point(60, { results: { scheduled: 120 } })];
    const throughput = counted(minutes, { seconds: 60 });
    const slots = slotsOf(throughput, 0, 90_000, 90_000);
    expect(columnsOf(throughput, slots, 90_000)[1]).toEqual([2, 4]);
  });
});

describe("ratesOf", () => {
  it("is over the last whole seconds, and unknown without any", () => {
    const throughput = counted([point(10, { results: { scheduled: 10 }, bound: 5 })]);
    expect(ratesOf(throughput, 15_900, 15_900)).toEqual({ attempts: 2, bound: 1 });
    expect(ratesOf(throughput, 16_900, 16_900)).toEqual({ attempts: 0, bound: 0 });
    expect(ratesOf(counted([]), 16_900, 16_900)).toEqual({ attempts: null, bound: null });
  });
});

describe("an hour that passes in a second", () => {
  /** A step every ten minutes of the hour, then time stands; all in one frame. */
  const counts = new Map(
    [0, 600, 1_200, 1_800, 2_400, 3_000, 3_600].map((second) => [
      second * 1000,
      { results: { scheduled: 60 }, bound: 60, queued: waiting(1), stepped: true },
    ]),
  );
  const after = addCounts(counted([point(0)]), counts);

  it("leaves the counts of its last minutes, each at its own time", () => {
    const slots = slotsOf(after, 3_301_000, 3_601_000, 3_600_000);
    expect(slots.filter((slot) => slot.attempts).map((slot) => [slot.at_ms, slot.attempts])).toEqual([[3_600_000, 60]]);
    expect(slots.filter((slot) => slot.attempts === null)).toEqual([]);
  });

  it("says nothing of a time whose frames have not arrived", () => {
    const slots = slotsOf(after, 3_500_000, 3_800_000, 3_600_000);
    expect(slots.filter((slot) => slot.at_ms > 3_600_000 && slot.attempts !== null)).toEqual([]);
  });

  it("has rates over as many seconds as five on the wall are", () => {
    expect([meanSeconds(1), meanSeconds(12), meanSeconds(600), meanSeconds(0)]).toEqual([5, 60, LIVE_SECONDS, 60]);
    expect(ratesOf(after, 3_601_000, 3_601_000, meanSeconds(12))).toEqual({ attempts: 1, bound: 1 });
  });
});

describe("addCounts", () => {
  it("lets go of what is older than is shown, but not of how the queue stood", () => {
    const old = point(10, { queued: waiting(3) });
    const second = (10 + LIVE_SECONDS + 5) * 1000;
    const count = { results: { scheduled: 1 }, bound: 0, queued: waiting(2), stepped: true };
    const after = addCounts(counted([old]), new Map([[second, count]]));
    expect(after.points.map((one) => one.at_ms)).toEqual([second]);
    expect(after.carried).toEqual(old);
  });
});
