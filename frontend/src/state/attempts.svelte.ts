/** The attempts at one pod, newest first: the newest page is asked for again and again, older ones when wanted. */
import { type ApiError, api, apiError } from "../api/client";
import { cursorOf } from "../api/pages";
import type { Attempt, AttemptPage } from "../contract/api.gen";
import { asker } from "../lib/ask";

export class PodAttempts {
  /** Null until the first answer; empty when there is no such pod, or nobody tried it. */
  found = $state.raw<readonly Attempt[] | null>(null);
  problem = $state.raw<ApiError | null>(null);
  /** Where the page after the last begins; null: these are all. */
  private following = $state.raw<string | null>(null);
  private readonly newest: ReturnType<typeof asker>;

  constructor(
    private readonly clusterId: number,
    private readonly key: string,
  ) {
    this.newest = asker(
      () => api.podAttempts(clusterId, key),
      (page) => this.take(page),
      (error) => {
        const problem = apiError(error);
        if (problem.status === 404) this.found = [];
        else this.problem = problem;
      },
    );
  }

  get hasOlder(): boolean {
    return this.following !== null;
  }

  refresh(): void {
    this.newest.ask();
  }

  async loadOlder(): Promise<void> {
    if (this.following === null) return;
    try {
      const page = await api.podAttempts(this.clusterId, this.key, this.following);
      this.found = joined(this.found ?? [], page.results);
      this.following = cursorOf(page.next);
      this.problem = null;
    } catch (error) {
      this.problem = apiError(error);
    }
  }

  stop(): void {
    this.newest.stop();
  }

  private take(page: AttemptPage): void {
    const last = page.results.at(-1)?.seq ?? 0;
    const older = page.next === null ? [] : (this.found ?? []).filter((attempt) => attempt.seq < last);
    // Of a pod that is tried so fast that a page is all new, what lay between is asked for again.
    const isGapless = older.length > 0 && (this.found ?? []).some((attempt) => attempt.seq >= last);
    this.found = isGapless ? joined(page.results, older) : page.results;
    if (!isGapless) this.following = cursorOf(page.next);
    this.problem = null;
  }
}

function joined(newer: readonly Attempt[], older: readonly Attempt[]): readonly Attempt[] {
  const known = new Set(newer.map((attempt) => attempt.seq));
  return [...newer, ...older.filter((attempt) => !known.has(attempt.seq))];
}
