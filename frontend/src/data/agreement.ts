/** The query of how far decisions agree, which several views make: with one key it is sent once. */
import { api } from "../api/client";

const AGREEMENT_EVERY_MS = 3_000;

/** How far a mirror's scheduler and the engine agreed in the last hour, by minute. */
export function agreementOf(clusterId: number, enabled = true) {
  return {
    key: ["agreement", clusterId],
    ask: () => api.agreement(clusterId, { points: 60 }),
    everyMs: AGREEMENT_EVERY_MS,
    enabled,
  };
}
