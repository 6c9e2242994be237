/**
 * Answers of the service by question, kept while somebody looks and a minute longer: a view that opens again shows them at
 * once and asks again meanwhile. Nothing is asked by a page that is hidden.
 */
import { createQuery, keepPreviousData, QueryClient } from "@tanstack/svelte-query";
import type { ApiError } from "../api/client";
import { store } from "../state/store.svelte";

export const queries = new QueryClient({
  // The service is where the page is from: whether the browser believes to be online says nothing of it.
  defaultOptions: { queries: { retry: false, networkMode: "always", gcTime: 60_000 } },
});

const TOO_MANY = 429; // read moments at once, others too
const THEN = {
  staleTime: Number.POSITIVE_INFINITY,
  retry: (times: number, error: ApiError) => error.status === TOO_MANY && times < 6,
  retryDelay: 700,
};

interface Question<Answer> {
  /** What the answer depends on, beginning with the name of the question and the cluster. */
  readonly key: readonly (string | number | boolean | null | object)[];
  readonly ask: () => Promise<Answer>;
  readonly everyMs?: number;
  readonly enabled?: boolean;
  /** It is the same question at any moment: it says itself which time it is about. */
  readonly timeless?: boolean;
  /** Show the answer to the question before until this one is answered: for pages and filters of one list. */
  readonly keep?: boolean;
}

/**
 * Ask, again when the question changes, and every so often; for use while a component is made. At a moment in the past
 * every question is another one, whose answer does not change.
 */
export function query<Answer>(question: () => Question<Answer>) {
  return createQuery<Answer, ApiError>(
    () => {
      const { key, ask, everyMs = 0, enabled = true, timeless = false, keep = false } = question();
      const moment = timeless ? null : (store.moment?.asked ?? null);
      return {
        queryKey: [...key, moment],
        queryFn: ask,
        enabled,
        ...(moment === null ? {} : THEN),
        refetchInterval: (moment === null && everyMs) || false,
        ...(keep ? { placeholderData: keepPreviousData } : {}),
      };
    },
    () => queries,
  );
}
