/**
 * What the scheduler did over time, as the service counted it: frames go on where the snapshot's counts end, and the
 * chart draws what is known. A time in which nothing was counted is a time without attempts only between two points of
 * one run of the engine; elsewhere nothing is known, and nothing is drawn.
 */
import type { QueueSizes, Throughput, ThroughputPoint } from "../contract/api.gen";

export const LIVE_SECONDS = 300;
const MEAN_SECONDS = 5;

/** What frames add to one second. `queued` null: no step was made in it. */
export interface Count {
  results: Record<string, number>;
  bound: number;
  queued: QueueSizes | null;
  stepped: boolean;
}

/** Adds counts by their second (ms) and lets go of what is older than the live chart shows. */
export function addCounts(throughput: Throughput, counts: ReadonlyMap<number, Count>): Throughput {
  if (!counts.size) return throughput;
  const run = throughput.points.findLast((point) => point.run !== null)?.run ?? throughput.carried?.run ?? 0;
  const points = new Map(throughput.points.map((point) => [point.at_ms, point]));
  for (const [at_ms, count] of counts) {
    const before = points.get(at_ms);
    points.set(at_ms, {
      at_ms,
      run: count.stepped ? run : (before?.run ?? null),
      results: sum(before?.results, count.results),
      bound: (before?.bound ?? 0) + count.bound,
      queued: count.queued ?? before?.queued ?? null,
    });
  }
  const ordered = [...points.values()].sort((a, b) => a.at_ms - b.at_ms);
  const newest = ordered.at(-1)?.at_ms ?? 0;
  const until_ms = Math.max(throughput.until_ms, newest + 1000);
  const since_ms = Math.max(throughput.since_ms, until_ms - LIVE_SECONDS * 1000);
  const gone = ordered.filter((point) => point.at_ms < since_ms);
  return {
    seconds: throughput.seconds,
    since_ms,
    until_ms,
    carried: gone.findLast((point) => point.run !== null) ?? throughput.carried,
    points: ordered.slice(gone.length),
  };
}

function sum(
  a: Readonly<Record<string, number>> = {},
  b: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const both: Record<string, number> = { ...a };
  for (const [name, value] of Object.entries(b)) both[name] = (both[name] ?? 0) + value;
  return both;
}

/** One second or minute of the chart; null: not known. */
export interface Slot {
  readonly at_ms: number;
  readonly attempts: number | null;
  readonly bound: number | null;
  readonly pending: number | null;
}

/** Every slot that begins in [fromMs, toMs). `knownMs`: up to when the newest engine is known to be at work. */
export function slotsOf(throughput: Throughput, fromMs: number, toMs: number, knownMs: number): readonly Slot[] {
  const width = throughput.seconds * 1000;
  const points = throughput.points;
  const slots: Slot[] = [];
  let run = throughput.carried?.run ?? null;
  let queued = throughput.carried?.queued ?? null;
  let index = 0;
  let ahead = 0; // the next point of a run
  for (let at_ms = Math.ceil(fromMs / width) * width; at_ms < toMs; at_ms += width) {
    let point: ThroughputPoint | undefined;
    while (index < points.length && (points[index] as ThroughputPoint).at_ms <= at_ms) {
      point = points[index] as ThroughputPoint;
      index += 1;
      if (point.run !== null) [run, queued] = [point.run, point.queued ?? queued];
    }
    if (point && point.at_ms < at_ms) point = undefined;
    while (ahead < points.length && (ahead < index || (points[ahead] as ThroughputPoint).run === null)) ahead += 1;
    const next = points[ahead];
    const known =
      at_ms >= throughput.since_ms && run !== null && (next === undefined ? at_ms <= knownMs : next.run === run);
    const stepped = point !== undefined && point.run !== null;
    slots.push({
      at_ms,
      attempts: stepped ? total(point?.results ?? {}) : known ? 0 : null,
      bound: point?.bound ?? (known ? 0 : null),
      pending: (stepped || known) && queued ? pendingOf(queued) : null,
    });
  }
  return slots;
}

export function pendingOf(queued: QueueSizes): number {
  return queued.active + queued.backoff + queued.unschedulable + queued.gated;
}

function total(results: Readonly<Record<string, number>>): number {
  return Object.values(results).reduce((all, one) => all + one, 0);
}

/** Attempts and bound pods a second over the last whole seconds, so many; null where nothing of them is known. */
export function ratesOf(throughput: Throughput, nowMs: number, knownMs: number, seconds = MEAN_SECONDS) {
  const end = Math.floor(nowMs / 1000) * 1000;
  const slots = slotsOf(throughput, end - seconds * 1000, end, knownMs);
  return { attempts: mean(slots.map((slot) => slot.attempts)), bound: mean(slots.map((slot) => slot.bound)) };
}

/** Over how many seconds of the cluster a rate is a mean: those of five on the wall, else of a minute; `rate` 0: unknown. */
export function meanSeconds(rate: number): number {
  return rate > 0 ? Math.min(LIVE_SECONDS, Math.max(MEAN_SECONDS, Math.round(MEAN_SECONDS * rate))) : 60;
}

type Column = (number | null)[];
export type Columns = [seconds: number[], attempts: Column, bound: Column, pending: Column];

/**
 * The chart's columns. Single seconds are spikes that say little: their rates are means of five. A minute's rate is
 * over the time of it that has gone by.
 */
export function columnsOf(throughput: Throughput, slots: readonly Slot[], nowMs: number): Columns {
  const rate = (what: "attempts" | "bound") =>
    slots.map((slot, index) => {
      const value = slot[what];
      if (value === null) return null;
      if (throughput.seconds > 1) return value / Math.max(1, Math.min(throughput.seconds, (nowMs - slot.at_ms) / 1000));
      return mean(slots.slice(Math.max(0, index - MEAN_SECONDS + 1), index + 1).map((one) => one[what]));
    });
  return [slots.map((slot) => slot.at_ms / 1000), rate("attempts"), rate("bound"), slots.map((slot) => slot.pending)];
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((all, value) => all + value, 0) / known.length : null;
}
