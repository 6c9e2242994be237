import { describe, expect, it } from "vitest";
import type { SnapshotColumns } from "../contract/api.gen";
import { snapshotOf } from "./columns";

const COLUMNS: SnapshotColumns = {
  cursor: [4, 2],
  cluster: { id: 1 } as SnapshotColumns["cluster"],
  nodes: {
    name: { values: ["n1", "n2", "n3"], rows: null },
    zone: { values: ["a", ""], rows: [0, 1, 0] },
    taints: { values: [[], ["x=y:NoSchedule"]], rows: [1, 0, 0] },
  },
  pods: {},
  queue: {},
  events: {},
  attempts: {},
  throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
  pods_left_out: 7,
};

describe("snapshotOf", () => {
  it("puts the columns together to rows, in their order", () => {
    expect(snapshotOf(COLUMNS).nodes).toEqual([
      { name: "n1", zone: "a", taints: ["x=y:NoSchedule"] },
      { name: "n2", zone: "", taints: [] },
      { name: "n3", zone: "a", taints: [] },
    ]);
  });

  it("keeps everything else as it is, and a list without rows is empty", () => {
    expect(snapshotOf(COLUMNS)).toMatchObject({ cursor: [4, 2], pods: [], queue: [], pods_left_out: 7 });
  });
});
