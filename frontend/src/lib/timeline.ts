/** The marks of a timeline: bars of attempts, and signs for what is rare. */
import type { Timeline } from "../contract/api.gen";

export interface Bar {
  readonly at: number; // ms, where it begins
  readonly attempts: number;
  readonly unschedulable: number;
}

export interface Sign {
  readonly kind: "preemptions" | "failures" | "configurations";
  readonly at: number;
}

export interface Marks {
  readonly bars: readonly Bar[];
  readonly signs: readonly Sign[];
  readonly totals: Readonly<Record<Sign["kind"] | "attempts" | "unschedulable", number>>;
}

/** A sign stands in the middle of its part of the span, that of a configuration at its time. */
export function marksOf({ buckets, bucket_ms, configurations }: Timeline): Marks {
  const bars: Bar[] = [];
  const signs: Sign[] = configurations.map(({ at_ms }) => ({ kind: "configurations", at: at_ms }));
  const totals = { attempts: 0, unschedulable: 0, preemptions: 0, failures: 0, configurations: configurations.length };
  for (const { at_ms: at, results, preemptions, refused } of buckets) {
    const attempts = Object.values(results).reduce((sum, count) => sum + count, 0);
    const unschedulable = results.unschedulable ?? 0;
    const failures = (results.error ?? 0) + refused;
    const middle = at + bucket_ms / 2;
    if (attempts) bars.push({ at, attempts, unschedulable });
    if (preemptions) signs.push({ kind: "preemptions", at: middle });
    if (failures) signs.push({ kind: "failures", at: middle });
    totals.attempts += attempts;
    totals.unschedulable += unschedulable;
    totals.preemptions += preemptions;
    totals.failures += failures;
  }
  return { bars, signs, totals };
}
