import { describe, expect, it } from "vitest";
import type { Cluster, PodView, QueueView } from "../contract/api.gen";
import { CLUSTER } from "../live/__fixtures__/cluster";
import { fromSnapshot } from "../live/state";
import { stateText, untriedText } from "./words";

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

const QUEUED: QueueView = {
  uid: POD.uid,
  key: POD.key,
  queue: "active",
  event: "",
  since_ms: 0,
  attempts: 1,
  backoff_until_ms: null,
  plugins: [],
  node: "",
  hint: "",
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

describe("the state of a pod in backoff", () => {
  it.each(["backoff", "errorBackoff"] as const)("says of %s that its end is the latest", (queue) => {
    const view = { ...QUEUED, queue, backoff_until_ms: 9_000 };
    expect(stateText(stateOf("frozen"), { ...POD, node: "" }, view, 0)).toMatch(/retried in 9 s at the latest$/);
  });
});

describe("a pod without attempts", () => {
  it.each([
    ["waits", { node: "", gated: false }, false, "The scheduler has not tried this pod yet."],
    ["is gated", { node: "", gated: true }, false, "a scheduling gate holds it back"],
    [
      "was on a node when it came",
      { node: "n1", gated: false },
      false,
      "No attempt at this pod is stored; it is on n1.",
    ],
    ["is another scheduler's", { node: "n1", gated: false }, true, "This engine has made no attempt"],
  ])("%s", (_, pod, isMirror, said) => {
    expect(untriedText(pod, isMirror)).toContain(said);
  });
});
