import { flushSync, mount, unmount } from "svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { PendingReason, PodView, QueueView } from "../../contract/api.gen";
import { groupedOf } from "../../lib/rejections";
import { clock } from "../../state/clock.svelte";
import Lane from "./Lane.svelte";
import PendingReasons from "./PendingReasons.svelte";

let made: ReturnType<typeof mount> | null = null;

afterEach(() => {
  if (made) void unmount(made);
  made = null;
  document.body.replaceChildren();
});

describe("PendingReasons", () => {
  it("counts the pods it lists, which may have been asked for later", async () => {
    const unqueued = { no_profile: {}, unseen: 0 };
    const reason = { plugin: "NodeName", reason: "no", pods: 1, nodes: 5, share: 1, examples: [] };
    const pod = { namespace: "a", attempt: 1, seq: 1, nodes: 5, message: "", created_at: "", seen_at: "" };
    const answers: Record<string, unknown> = {
      pending: { pods: 1, queues: {}, unqueued, profiles: ["default-scheduler"], reasons: [reason] },
      pods: { pods: ["x", "y"].map((name) => ({ ...pod, name, pod_uid: name })) },
    };
    vi.stubGlobal("fetch", async ({ url }: Request) => {
      return new Response(JSON.stringify(answers[new URL(url).pathname.split("/").at(-1) ?? ""]));
    });
    made = mount(PendingReasons, { target: document.body, props: { clusterId: 1, count: 2 } });
    await vi.waitFor(() => expect(document.querySelector("button b")?.textContent).toBe("1"));
    document.querySelector("button")?.click();
    await vi.waitFor(() => expect(document.querySelectorAll(".pods a")).toHaveLength(2));
    expect(document.querySelector("button b")?.textContent).toBe("2");
    vi.unstubAllGlobals();
  });
});

describe("groupedOf", () => {
  const reason = (plugin: string, pods: number, nodes: number, share: number): PendingReason => ({
    plugin,
    reason: "no",
    pods,
    nodes,
    share,
    examples: [],
  });
  const fit = reason("NodeResourcesFit", 3, 27, 2.7);
  const cordoned = reason("NodeUnschedulable", 4, 4, 0.4);
  const onlyNode = reason("NodePorts", 2, 2, 2); // the pods name the node

  it("has reasons that concern a single node by themselves", () => {
    expect(groupedOf([fit, onlyNode, cordoned])).toEqual({ main: [fit, onlyNode], single: [cordoned] });
  });

  it("leads with them where there are no others", () => {
    expect(groupedOf([cordoned])).toEqual({ main: [cordoned], single: [] });
  });

  it("opens them as one line", async () => {
    vi.stubGlobal("fetch", async ({ url }: Request) => {
      const asked = new URL(url).pathname.endsWith("/pods");
      const unqueued = { no_profile: {}, unseen: 0 };
      const found = { pods: 4, queues: {}, unqueued, profiles: ["default-scheduler"], reasons: [fit, cordoned] };
      return new Response(JSON.stringify(asked ? { pods: [] } : found));
    });
    made = mount(PendingReasons, { target: document.body, props: { clusterId: 2, count: 4 } });
    const buttons = () => [...document.querySelectorAll("button")];
    await vi.waitFor(() => expect(buttons()).toHaveLength(2));
    expect(buttons()[0]?.textContent).toContain("90 % of the nodes");
    expect(buttons()[1]?.textContent).toBe("1 reason for a single node only");
    buttons()[1]?.click();
    await vi.waitFor(() => expect(buttons()[2]?.textContent).toContain("NodeUnschedulable"));
    buttons()[1]?.click();
    await vi.waitFor(() => expect(buttons()).toHaveLength(2));
    vi.unstubAllGlobals();
  });
});

const QUEUED: QueueView = {
  uid: "u1",
  key: "web/launch",
  queue: "unschedulable",
  event: "",
  since_ms: 0,
  attempts: 1,
  backoff_until_ms: null,
  plugins: [],
  node: "",
  hint: "",
};

describe("Lane", () => {
  it("draws a few of 8,000 pods and counts all of them", () => {
    const view = (index: number): QueueView => ({
      uid: `u${index}`,
      key: `default/pod-${index}`,
      queue: "active",
      event: "PodAdd",
      since_ms: 0,
      attempts: 0,
      backoff_until_ms: null,
      plugins: [],
      node: "",
      hint: "",
    });
    const pods = Array.from({ length: 8_000 }, (_, index) => ({ view: view(index), pod: undefined }));
    made = mount(Lane, { target: document.body, props: { lane: "active", pods, clusterId: 1 } });
    flushSync();
    const chips = document.querySelectorAll("li");
    expect(chips.length).toBeGreaterThan(0);
    expect(chips.length).toBeLessThan(40);
    expect(chips[0]?.getAttribute("aria-setsize")).toBe("8000");
    expect(document.querySelector("[data-testid=count]")?.textContent).toBe("8,000");
  });

  it("shows where room is made for a pod that is nominated", () => {
    const pod = {
      uid: "u1",
      key: "web/launch",
      phase: "Pending",
      node: "",
      nominated: "n7",
      priority: 500_000,
      requests: {},
      created_ms: 0,
    } as unknown as PodView;
    made = mount(Lane, {
      target: document.body,
      props: { lane: "unschedulable", pods: [{ view: QUEUED, pod }], clusterId: 1 },
    });
    flushSync();
    const shown = document.querySelector(".nominated");
    const name = shown?.querySelector(".hidden")?.textContent;
    expect([name, shown?.getAttribute("title")]).toEqual(["n7", "nominated to n7"]);
    expect(shown?.textContent).toMatch(/^→ /);
  });

  it("shows the end of a backoff as the latest moment", () => {
    const view = { ...QUEUED, queue: "backoff", backoff_until_ms: clock.now + 3_600_000 } as const;
    made = mount(Lane, {
      target: document.body,
      props: { lane: "backoff", pods: [{ view, pod: undefined }], clusterId: 1 },
    });
    flushSync();
    const shown = document.querySelector(".remark");
    expect(shown?.textContent).toMatch(/^≤ /);
    expect(shown?.getAttribute("title")).toMatch(/at the latest$/);
  });

  it.each([
    [["DefaultPreemption"], "waits for victims"],
    [["SchedulingGates"], undefined],
  ])("says of a pod that %s holds back what it waits for: %s", (plugins, want) => {
    const view = { ...QUEUED, queue: "gated", event: "ScheduleAttemptFailure", plugins } as const;
    made = mount(Lane, {
      target: document.body,
      props: { lane: "gated", pods: [{ view, pod: undefined }], clusterId: 1 },
    });
    flushSync();
    expect(document.querySelector(".remark")?.textContent).toBe(want);
    expect(document.querySelector("a.chip")?.getAttribute("title")).toContain("An attempt at the pod failed");
  });

  it("says so when nobody waits", () => {
    made = mount(Lane, { target: document.body, props: { lane: "gated", pods: [], clusterId: 1 } });
    flushSync();
    expect(document.body.textContent).toContain("No gated pods.");
  });
});
