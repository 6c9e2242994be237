/** Why a pod has no node, for tests. */
import type { PodWhy, TurningEntry } from "../../contract/api.gen";

export const TURN: TurningEntry = {
  rv: 12,
  kind: "Node",
  namespace: "",
  name: "n1",
  operation: "updated",
  actor: "ann",
  at: "2026-01-01T00:00:00Z",
  fitting: 1,
  node: "n1",
  existed: true,
};
export const STORED: PodWhy = {
  uid: "u1",
  attempt: 9,
  since: { at: "2026-01-01T00:00:00Z", seq: 9, attempts: 2, is_cut: false },
  waits: {
    queue: "unschedulable",
    since: "2026-01-01T00:00:00Z",
    plugins: ["NodeUnschedulable"],
    retried_at: "2026-01-01T00:05:30Z",
    wakers: [{ plugin: "NodeUnschedulable", resource: "Node", actions: ["Add", "UpdateNodeTaint"], has_hint: true }],
  },
  preemption: {
    outcome: "failed",
    message: "",
    potential: 2,
    candidates: 0,
    node: "",
    victims: [],
    refusals: [{ reason: "Insufficient cpu", nodes: 2 }],
  },
  rv: null,
  judged: null,
  turning: null,
  difference: null,
};
export const WHY: PodWhy = {
  ...STORED,
  rv: 20,
  judged: {
    made_again: true,
    nodes: 3,
    fitting: 0,
    reasons: [{ plugin: "NodeUnschedulable", reason: "node(s) were unschedulable", nodes: 3, alone: 2 }],
    near: [{ node: "n1", plugin: "NodeUnschedulable", reason: "node(s) were unschedulable", amounts: [] }],
    num_near: 2,
  },
  turning: { verdict: "entry", until: 20, runs: 7, created: 4, fitted_then: true, begins: 0, turn: TURN },
};
