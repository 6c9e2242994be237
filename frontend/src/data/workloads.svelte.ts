/** The workloads of a cluster, asked for again when one of them has changed. */
import { untrack } from "svelte";
import { type ApiError, api, apiError } from "../api/client";
import type { Workloads } from "../contract/api.gen";
import { asker } from "../lib/ask";
import type { State } from "../live/state";

const PAUSE_MS = 1_500; // Jobs come and go all the time

export class WorkloadList {
  found = $state.raw<Workloads | null>(null);
  problem = $state.raw<ApiError | null>(null);

  /** For use while a component is made. */
  constructor(live: () => State) {
    const clusterId = $derived(live().cluster.id);
    const changed = $derived(live().workloads);
    $effect(() => {
      const id = clusterId;
      const { ask, stop } = asker(
        () => api.workloads(id),
        (found) => {
          this.found = found;
          this.problem = null;
        },
        (error) => {
          this.problem = apiError(error);
        },
        PAUSE_MS,
      );
      $effect(() => {
        void changed;
        untrack(ask);
      });
      return stop;
    });
  }
}
