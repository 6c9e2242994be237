/** What changed between two attempts at a pod, for tests. */
import type { AttemptChanged } from "../../contract/api.gen";

const LACKS = { plugin: "NodeResourcesFit", code: "Unschedulable", reasons: ["Insufficient cpu"] };

export const CHANGED: AttemptChanged = {
  seq: 9,
  since: 5,
  number: 3,
  since_number: 1,
  rv: 20,
  since_rv: 5,
  nodes: 7,
  changed: 2,
  rows: [
    { node: "n1", was_there: true, is_there: true, before: null, after: LACKS, by: "entry", rv: 12 },
    { node: "n2", was_there: true, is_there: true, before: LACKS, after: null, by: "assumed", rv: null },
  ],
  entries: [
    {
      rv: 12,
      kind: "Node",
      namespace: "",
      name: "n1",
      operation: "updated",
      actor: "ann",
      at: "2026-01-01T00:00:00Z",
      nodes: 1,
    },
  ],
  runs: 7,
  difference: null,
};
