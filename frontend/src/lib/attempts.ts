/** Attempts at a pod by the numbers people know them by; equal ones in a row are one entry with several numbers. */
import type { Attempt } from "../contract/api.gen";
import type { Difference } from "./compare";
import { refusalsOf } from "./rejections";

/** What the address of an attempt is made from. */
export type Addressed = Pick<Attempt, "pod_uid" | "seq" | "last_attempt">;

export function hasNumber(attempt: Attempt, number: number): boolean {
  return attempt.attempt <= number && number <= attempt.last_attempt;
}

/** The newest with this number, or the one in this place of the log if that has the number. */
export function attemptAt(found: readonly Attempt[], number: number, seq: number): Attempt | undefined {
  return found.find((attempt) => hasNumber(attempt, number) && (!seq || attempt.seq === seq));
}

/** Nodes by the plugin and reason of their rejection that differ between two attempts, the greatest difference first. */
export function rejectionChanges(before: Attempt, after: Attempt): readonly Difference[] {
  const [old, young] = [before, after].map(counted) as [Map<string, number>, Map<string, number>];
  return [...new Set([...old.keys(), ...young.keys()])]
    .map((what) => {
      const [left, right] = [old.get(what) ?? 0, young.get(what) ?? 0];
      return { what, left, right, more: right - left };
    })
    .filter(({ more }) => more)
    .sort((a, b) => Math.abs(b.more) - Math.abs(a.more) || a.what.localeCompare(b.what));
}

function counted({ rejections }: Attempt): Map<string, number> {
  return new Map(refusalsOf(rejections).map(({ plugin, reason, count }) => [`${plugin}: ${reason}`, count]));
}

/** The position just before an attempt, of the first of equal ones: what the engine knew when it made it. */
export function positionBefore({ rv, seq }: { readonly rv: number; readonly seq: number }): string {
  return `${rv}.${seq - 1}`;
}
