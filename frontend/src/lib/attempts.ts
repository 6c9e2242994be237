/** Attempts at a pod by the numbers people know them by; equal ones in a row are one entry with several numbers. */
import type { Attempt } from "../contract/api.gen";

/** What the address of an attempt is made from. */
export type Addressed = Pick<Attempt, "pod_uid" | "seq" | "last_attempt">;

export function hasNumber(attempt: Attempt, number: number): boolean {
  return attempt.attempt <= number && number <= attempt.last_attempt;
}

/** The newest with this number, or the one in this place of the log if that has the number. */
export function attemptAt(found: readonly Attempt[], number: number, seq: number): Attempt | undefined {
  return found.find((attempt) => hasNumber(attempt, number) && (!seq || attempt.seq === seq));
}
