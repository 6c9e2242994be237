import { flushSync } from "svelte";
import { beforeEach, expect, it, vi } from "vitest";
import type { WorkloadDetail } from "../../contract/api.gen";
import { openedBy } from "../../lib/view";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { VIEWS } from "..";
import { answered, refused } from "../__fixtures__/cards";
import { found, hrefs, said, show, type } from "../__fixtures__/shown";
import { workloadsHref } from "../workloads/view";
import WorkloadsPanel from "../workloads/WorkloadsPanel.svelte";
import { workloadHref } from "./view";
import WorkloadPanel from "./WorkloadPanel.svelte";

const WEB = {
  kind: "Deployment",
  namespace: "web",
  name: "storefront",
  created_ms: 1,
  state: "stalled",
  said: "has timed out progressing",
  wanted: 3,
  current: 4,
  updated: 1,
  ready: 3,
  available: 2,
  succeeded: null,
  failed: null,
  active: null,
} as const;
const DETAIL: WorkloadDetail = {
  rv: 1,
  manifest: {},
  workload: WEB,
  owners: [],
  strategy: "RollingUpdate · maxSurge 1",
  min_ready_seconds: 8,
  conditions: [
    { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "timed out", since: null },
  ],
  parts: [{ kind: "ReplicaSet", name: "storefront-1", revision: "2", is_current: true, workload: WEB }],
  pods: [
    {
      name: "storefront-1-a",
      node: "n1",
      status: "Pending",
      ready: 0,
      containers: 1,
      restarts: "0",
      part: "storefront-1",
      is_updated: true,
      waits_for: "0/3 nodes are available",
    },
  ],
  pods_total: 1,
  waits: [{ status: "Pending", waits_for: "0/3 nodes are available", pods: 1, name: "storefront-1-a" }],
  in_vain: [],
};
const live = { cluster: CLUSTER, pods: new Map(), nodes: new Map(), events: [], workloads: 0 } as unknown as State;
let answer = DETAIL;
let missing = false;

beforeEach(() => {
  answer = DETAIL;
  missing = false;
  location.hash = "";
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    if (url.includes("object-events")) return answered({ events: [] });
    if (url.endsWith("/workloads"))
      return answered({ workloads: [WEB, { ...WEB, kind: "Job", name: "bake" }], total: 2 });
    return missing ? refused("not_found", "not found", 404) : answered(answer);
  });
});

async function settled(): Promise<string> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve));
  flushSync();
  return said();
}

it("has addresses of its own", () => {
  expect(openedBy(VIEWS, workloadHref(1, "Deployment", "web/storefront"))?.values).toEqual({
    clusterId: 1,
    kind: "Deployment",
    key: "web/storefront",
  });
  expect(openedBy(VIEWS, workloadsHref(1))?.values).toEqual({ clusterId: 1 });
});

it("says how far a workload is, why it does not go on, and what its pods wait for", async () => {
  show(WorkloadPanel, { live, kind: "Deployment", key: "web/storefront" });
  const text = await settled();
  for (const part of ["Stalled", "has timed out progressing", "Desired3", "Updated1", "Available2", "0/3 nodes are"])
    expect(text).toContain(part);
  expect(text).toContain("1 pod is ready and not yet available: that takes 8 s");
  expect(hrefs()).toContain("#/clusters/1/workloads/ReplicaSet/web/storefront-1");
  expect(hrefs()).toContain("#/clusters/1/pods/web/storefront-1-a");
});

it("says of one with pods that are not available that nothing is left to update", async () => {
  answer = { ...DETAIL, workload: { ...WEB, state: "unavailable", said: "", current: 3, updated: 3 } };
  show(WorkloadPanel, { live, kind: "Deployment", key: "web/waiting" });
  expect(await settled()).toContain("No pod is to be created, updated or deleted, and some are not available.");
});

it("says of one in progress that its controller may not know of the change yet", async () => {
  answer = { ...DETAIL, workload: { ...WEB, state: "progressing", said: "" } };
  show(WorkloadPanel, { live, kind: "Deployment", key: "web/storefront" });
  expect(await settled()).toContain(
    "Its controller has not seen the newest spec, or pods are still to be created, updated or deleted.",
  );
});

it("says that a workload is not there", async () => {
  missing = true;
  show(WorkloadPanel, { live, kind: "Deployment", key: "web/none" });
  expect(await settled()).toContain("This workload is not in the cluster");
});

it("lists what is looked for", async () => {
  show(WorkloadsPanel, { live });
  expect(await settled()).toContain("2 of 2");
  type(found<HTMLInputElement>("input[type=search]"), "bake");
  expect(await settled()).toContain("1 of 2");
});
