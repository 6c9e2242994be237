/** Moments in the past as people write them: a position of both logs, a time, or how long ago. */

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const LOCAL = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;

/**
 * As the service takes it: a time without a zone is of this browser's zone, and one without a day is the last such time
 * before `now` (ms). What is none of these stays as it is: the service says what is wrong with it.
 */
export function momentIn(written: string, now: number): string {
  const text = written.trim();
  const time = CLOCK.exec(text);
  if (time) {
    const [, hour, minute, second = "0"] = time;
    const found = new Date(now);
    found.setHours(Number(hour), Number(minute), Number(second), 0);
    if (found.getTime() > now) found.setDate(found.getDate() - 1);
    return isoOf(found, text);
  }
  const day = LOCAL.exec(text);
  if (!day) return text;
  const [, year, month, date, hour = "0", minute = "0", second = "0"] = day;
  const found = new Date(Number(year), Number(month) - 1, Number(date), Number(hour), Number(minute), Number(second));
  return isoOf(found, text);
}

/** To the second where that is all there is. */
export function isoAt(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

function isoOf(time: Date, text: string): string {
  return Number.isNaN(time.getTime()) ? text : isoAt(time.getTime());
}

/** A part of the history that is shown as a line, in ms of the cluster's time. */
export interface Window {
  readonly since: number;
  readonly until: number;
}

/** What the line shows: all there is, or so many ms around a moment. The window before stays while the moment is in it. */
export function windowAround(at: number, length: number, all: Window, before: Window | null): Window {
  const whole = all.until - all.since;
  if (length >= whole) return all;
  const kept = before && before.until - before.since === length && at >= before.since && at <= before.until;
  const since = kept ? before.since : at - length / 2;
  const begins = Math.min(Math.max(since, all.since), all.until - length);
  return { since: begins, until: begins + length };
}

/** Where a time is on the line: 0 to 1, also for those outside. */
export function shareOf(at: number, { since, until }: Window): number {
  return Math.min(1, Math.max(0, (at - since) / Math.max(1, until - since)));
}

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** What a key does on the line: to the step before or after, so many ms on, to one of its ends; null: nothing. */
export type KeyMove = "before" | "after" | "first" | "now" | number;

export function moveOf(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">,
): KeyMove | null {
  if (event.metaKey || event.altKey) return null;
  const back = event.key === "ArrowLeft" || event.key === "ArrowDown";
  if (back || event.key === "ArrowRight" || event.key === "ArrowUp") {
    const sign = back ? -1 : 1;
    if (event.ctrlKey) return sign * HOUR_MS;
    if (event.shiftKey) return sign * MINUTE_MS;
    return back ? "before" : "after";
  }
  if (event.ctrlKey || event.shiftKey) return null;
  if (event.key === "PageDown") return -HOUR_MS;
  if (event.key === "PageUp") return HOUR_MS;
  if (event.key === "Home") return "first";
  return event.key === "End" ? "now" : null;
}
