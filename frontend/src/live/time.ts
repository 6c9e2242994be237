/**
 * What time it is in a cluster, from what the service said last: a frame, a snapshot, or its clock.
 *
 * Real time goes on as this computer's. A clock that goes by steps goes on at its rate for a little, never past what is
 * due next, and stands between messages when it has no rate: a busy cluster is slower than its rate, and what was shown
 * too early could only stand until it is true. What is shown never goes back.
 */
import type { Clock, Cluster } from "../contract/api.gen";

/** So far (ms of the cluster) a clock that goes by steps is taken to go on without a word of it. */
export const LEAD_MS = 10_000;
const CLOSE_MS = 500; // real time is not set anew for less
const SLACK_MS = LEAD_MS + 5_000; // what was shown may be ahead by so much; beyond, this computer's clock was set

/** How time passes. `rate` 0: it is only known from messages. */
export interface Passing {
  readonly rate: number;
  readonly isStepped: boolean;
}

export interface ClusterTime extends Passing {
  readonly at: number; // ms, the cluster's
  readonly wall: number; // ms, this computer's, when it was said
  readonly floor: number; // what was shown already
  readonly limit: number | null; // what is due next
  /** Up to here everything that happened has arrived. */
  readonly known: number;
  /** Of the last answer of the clock, which may be ahead of the frames. */
  readonly asked: number | null;
}

type Settings = Pick<Cluster, "clock_mode" | "clock_rate" | "clock_until_us">;

export function passingOf({ clock_mode, clock_rate, clock_until_us }: Settings): Passing {
  const isStepped = clock_mode !== "real" || clock_until_us !== null;
  if (!isStepped) return { rate: 1, isStepped };
  return { rate: clock_mode === "factor" && clock_until_us === null ? (clock_rate ?? 0) : 0, isStepped };
}

/** After a frame or a snapshot of that time. The same value while it agrees with real time as it is shown. */
export function framed(before: ClusterTime | null, at: number, wall: number, settings: Settings): ClusterTime {
  const passing = passingOf(settings);
  if (before && !before.isStepped && !passing.isStepped && Math.abs(timeAt(before, wall) - at) < CLOSE_MS)
    return before;
  const limit = before?.limit && before.limit > at ? before.limit : null;
  const known = Math.max(at, passing.isStepped ? (before?.known ?? 0) : 0);
  return { ...passing, at, wall, limit, known, floor: floorOf(before, at, wall), asked: null };
}

/** After an answer of the clock. Frames up to its time may still be on their way: all up to the answer before has arrived. */
export function clocked(before: ClusterTime | null, clock: Clock, wall: number): ClusterTime {
  if (before && wall < before.wall) return before;
  const { mode, rate, until_us, waits_for_scheduler } = clock;
  const settings: Settings = { clock_mode: mode, clock_rate: rate, clock_until_us: until_us };
  const passing = passingOf(settings);
  const at = clock.now_us / 1000;
  if (!passing.isStepped) return framed(before, at, wall, settings);
  return {
    isStepped: true,
    rate: waits_for_scheduler ? 0 : passing.rate,
    at,
    wall,
    floor: floorOf(before, at, wall),
    limit: clock.next_due_us === null ? null : clock.next_due_us / 1000,
    known: Math.max(before?.known ?? 0, before?.asked ?? 0),
    asked: at,
  };
}

/** A moment in the past: time stands there. */
export function stoppedAt(at: number): ClusterTime {
  return { isStepped: true, rate: 0, at, wall: 0, floor: at, limit: null, known: at, asked: null };
}

/** The time in the cluster when it is `wall` on this computer. */
export function timeAt(time: ClusterTime, wall: number): number {
  const passed = Math.max(0, wall - time.wall);
  if (!time.isStepped) return Math.max(time.floor, time.at + passed);
  const ahead = time.at + Math.min(passed * time.rate, LEAD_MS);
  return Math.max(time.floor, Math.min(ahead, Math.max(time.at, time.limit ?? ahead)));
}

/** The same for a moment that may be before the last message: a clock that goes by steps is not known then. */
export function timeThen(time: ClusterTime, wall: number): number {
  return time.isStepped ? timeAt(time, wall) : time.at + wall - time.wall;
}

function floorOf(before: ClusterTime | null, at: number, wall: number): number {
  return before ? Math.min(timeAt(before, wall), at + SLACK_MS) : at;
}
