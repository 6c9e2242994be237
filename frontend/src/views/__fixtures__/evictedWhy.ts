/** Why a pod was evicted, for tests. */
import type { NodeCost, PodEvicted, Preempting, TriedPod } from "../../contract/api.gen";

const COST: NodeCost = {
  node: "n2",
  victims: ["default/web"],
  pdb_violations: 0,
  highest_priority: 0,
  sum_of_priorities: 2_147_483_648,
  number_of_victims: 1,
  latest_start: "2026-01-01T00:00:00Z",
  falls_by: "",
  left_out: false,
};
export const VICTIM: TriedPod = {
  pod: "default/web",
  priority: 0,
  started_at: "2026-01-01T00:00:00Z",
  budgets: [],
  violates: false,
  spared: false,
  status: { code: "Unschedulable", plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"] },
  amounts: [],
  alone: true,
  needless: false,
};
export const SEARCH: Preempting = {
  attempt: 9,
  number: 1,
  at: "2026-01-01T00:00:00Z",
  node: "n2",
  priority: 100,
  potential: 4,
  refusals: [{ reason: "No preemption victims found for incoming pod", nodes: 1 }],
  untried: 0,
  candidates: 3,
  criterion: "highest_priority",
  tied: 0,
  asks_extenders: false,
  made_again: true,
  costs: [
    COST,
    { ...COST, node: "n3", highest_priority: 5, falls_by: "highest_priority" },
    { ...COST, node: "n1", pdb_violations: 1, falls_by: "pdb_violations" },
  ],
  pods: [{ ...VICTIM, pod: "default/kept", priority: 1, spared: true, status: null }, VICTIM],
};
const UNKNOWN = { highest_priority: null, sum_of_priorities: null, latest_start: null, falls_by: "" } as const;
export const EVICTED: PodEvicted = {
  uid: "u1",
  node: "n2",
  priority: 0,
  by: "preempted",
  message: "default-scheduler: preempting to accommodate a higher priority pod",
  entry: { rv: 12, operation: "updated", actor: "scheduler", at: "2026-01-01T00:00:00Z" },
  is_cut: false,
  gone_at: null,
  cause: null,
  budgets: [],
  preemptor: "default/high",
  preemption: SEARCH,
  difference: null,
};
export const RECORDED: PodEvicted = {
  ...EVICTED,
  preemption: {
    ...SEARCH,
    priority: null,
    made_again: false,
    costs: SEARCH.costs.map((cost) => ({ ...cost, ...UNKNOWN })),
    pods: [],
  },
};
