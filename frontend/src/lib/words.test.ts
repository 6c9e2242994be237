import { describe, expect, it } from "vitest";
import type { Cluster, PodView } from "../contract/api.gen";
import { CLUSTER } from "../live/__fixtures__/cluster";
import { fromSnapshot } from "../live/state";
import { stateText } from "./words";

const POD: PodView = {
  uid: "u1",
  key: "default/web",
  node: "n1",
  phase: "Pending",
  priority: 0,
  requests: {},
  deleting: false,
  gated: false,
  nominated: "",
  reason: "",
  created_ms: 0,
  scheduler: "default-scheduler",
};

function stateOf(lifecycle_mode: Cluster["lifecycle_mode"]) {
  return fromSnapshot({
    cursor: [0, 0],
    cluster: { ...CLUSTER, lifecycle_mode },
    nodes: [],
    pods: [POD],
    queue: [],
    events: [],
    attempts: [],
    throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
    pods_left_out: 0,
  });
}

describe("the state of a pod with a node", () => {
  it.each([
    ["simulate", "Pending", "Bound to n1, starting"],
    ["frozen", "Pending", "Bound to n1"],
    ["frozen", "Running", "Running on n1"],
  ] as const)("in a cluster that is to %s, in phase %s, is %s", (mode, phase, want) => {
    expect(stateText(stateOf(mode), { ...POD, phase }, undefined, 0)).toBe(want);
  });
});
