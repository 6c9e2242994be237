import { expect, it } from "vitest";
import type { Timeline } from "../contract/api.gen";
import { marksOf } from "./timeline";

const TIMELINE: Timeline = {
  since_ms: 0,
  until_ms: 40_000,
  bucket_ms: 10_000,
  begins: { rv: 0, seq: 0, at_ms: 0 },
  buckets: [
    { at_ms: 0, results: { scheduled: 3, unschedulable: 2 }, preemptions: 0, refused: 0 },
    { at_ms: 20_000, results: { error: 1 }, preemptions: 2, refused: 0 },
    { at_ms: 30_000, results: {}, preemptions: 0, refused: 1 },
  ],
  configurations: [{ at_ms: 12_345, version: 2 }],
};

it("makes bars of attempts and signs of what is rare", () => {
  const { bars, signs, totals } = marksOf(TIMELINE);
  expect(bars).toEqual([
    { at: 0, attempts: 5, unschedulable: 2 },
    { at: 20_000, attempts: 1, unschedulable: 0 },
  ]);
  expect(signs).toEqual([
    { kind: "configurations", at: 12_345 },
    { kind: "preemptions", at: 25_000 },
    { kind: "failures", at: 25_000 },
    { kind: "failures", at: 35_000 },
  ]);
  expect(totals).toEqual({ attempts: 6, unschedulable: 2, preemptions: 2, failures: 2, configurations: 1 });
});
