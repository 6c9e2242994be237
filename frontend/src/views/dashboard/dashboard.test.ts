import { flushSync } from "svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { PendingReason, QueueView } from "../../contract/api.gen";
import { groupedOf } from "../../lib/rejections";
import { liveState, POD, QUEUED, queuedPod } from "../../live/__fixtures__/state";
import { clock } from "../../state/clock.svelte";
import { router } from "../../state/route.svelte";
import { answered } from "../__fixtures__/cards";
import { found, show, texts, type } from "../__fixtures__/shown";
import PendingReasons from "./PendingReasons.svelte";
import Queues from "./Queues.svelte";

describe("PendingReasons", () => {
  it("counts the pods it lists, which may have been asked for later", async () => {
    const unqueued = { no_profile: {}, unseen: 0 };
    const reason = { plugin: "NodeName", reason: "no", pods: 1, nodes: 5, share: 1, examples: [], amounts: [] };
    const pod = { namespace: "a", attempt: 1, seq: 1, nodes: 5, message: "", created_at: "", seen_at: "" };
    const answers: Record<string, unknown> = {
      pending: { pods: 1, queues: {}, unqueued, profiles: ["default-scheduler"], reasons: [reason] },
      pods: { pods: ["x", "y"].map((name) => ({ ...pod, name, pod_uid: name })) },
    };
    vi.stubGlobal("fetch", async ({ url }: Request) => {
      return answered(answers[new URL(url).pathname.split("/").at(-1) ?? ""]);
    });
    show(PendingReasons, { clusterId: 1, count: 2 });
    await vi.waitFor(() => expect(document.querySelector("button b")?.textContent).toBe("1 pod"));
    document.querySelector("button")?.click();
    await vi.waitFor(() => expect(document.querySelectorAll(".pods a")).toHaveLength(2));
    expect(document.querySelector("button b")?.textContent).toBe("2 pods");
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
    amounts: [],
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
      const all = { pods: 4, queues: {}, unqueued, profiles: ["default-scheduler"], reasons: [fit, cordoned] };
      return answered(asked ? { pods: [] } : all);
    });
    show(PendingReasons, { clusterId: 2, count: 4 });
    const buttons = () => [...document.querySelectorAll("button")];
    await vi.waitFor(() => expect(buttons()).toHaveLength(2));
    expect(buttons()[1]?.textContent).toBe("1 reason for a single node only");
    buttons()[0]?.click();
    await vi.waitFor(() => expect(document.body.textContent).toContain("90 % of the nodes"));
    buttons()[0]?.click();
    buttons()[1]?.click();
    await vi.waitFor(() => expect(buttons()[2]?.textContent).toContain("NodeUnschedulable"));
    buttons()[1]?.click();
    await vi.waitFor(() => expect(buttons()).toHaveLength(2));
  });
});

const WAITING: QueueView = { ...QUEUED, queue: "unschedulable" };

describe("Queues", () => {
  const opened = location.href;

  afterEach(() => {
    history.replaceState(null, "", opened);
    router.hash = location.hash;
  });

  const pods = (views: readonly QueueView[]) => views.map(({ uid, key }) => ({ ...POD, uid, key }));
  const draw = (queue: readonly QueueView[], of = pods(queue)) =>
    show(Queues, { live: liveState({ pods: of, queue }) });
  const names = () => texts("li .name .hidden");

  it("draws a few of 8,000 pods and counts all of them", () => {
    draw(Array.from({ length: 8_000 }, (_, index) => queuedPod(`pod-${index}`, { event: "PodAdd" })));
    const rows = document.querySelectorAll("li");
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThan(40);
    expect(rows[0]?.getAttribute("aria-setsize")).toBe("8000");
    expect(texts(".states button")).toEqual(["Active 8,000"]);
  });

  const three: readonly QueueView[] = [
    { ...WAITING, uid: "a", key: "web/a", plugins: ["NodeResourcesFit"] },
    { ...WAITING, uid: "b", key: "web/b", queue: "active", event: "NodeAdd" },
    { ...WAITING, uid: "c", key: "batch/c", queue: "assumed", node: "node-7" },
  ];

  it("are one list in the order of the queues, each row with what it waits for; where nobody waits takes no room", () => {
    draw(three);
    expect(names()).toEqual(["b", "a", "c"]);
    expect(texts(".states button")).toEqual(["Active 1", "Unschedulable 1", "Waiting / Binding 1"]);
    expect(texts("li .reason")).toEqual(["NodeAdd", "NodeResourcesFit", expect.stringContaining("node-7")]);
  });

  it.each([
    ["batch", ["c"]],
    ["NODERESOURCES web", ["a"]],
    ["node-7", ["c"]],
    ["nothing of the kind", []],
  ])("shows what has the words %s in it, which the address holds", (words, want) => {
    draw(three);
    type(found<HTMLInputElement>("input"), words);
    expect(names()).toEqual(want);
    expect(new URLSearchParams(location.hash.split("?")[1]).get("find")).toBe(words);
    if (!want.length) expect(document.body.textContent).toContain("No pod that waits here matches.");
  });

  it("shows one queue alone, and all again", () => {
    draw(three);
    const button = () => document.querySelector<HTMLElement>(".states [data-lane=unschedulable]");
    button()?.click();
    flushSync();
    expect([names(), button()?.ariaPressed ?? button()?.getAttribute("aria-pressed")]).toEqual([["a"], "true"]);
    button()?.click();
    flushSync();
    expect(names()).toEqual(["b", "a", "c"]);
  });

  it("shows where room is made for a pod that is nominated", () => {
    draw([WAITING], [{ ...POD, nominated: "n7", priority: 500_000 }]);
    const shown = document.querySelector(".nominated");
    const name = shown?.querySelector(".hidden")?.textContent;
    expect([name, shown?.getAttribute("title")]).toEqual(["n7", "nominated to n7"]);
    expect(shown?.textContent).toMatch(/^→ /);
  });

  it("shows the end of a backoff as the latest moment", () => {
    draw([{ ...WAITING, queue: "backoff", backoff_until_ms: clock.now + 3_600_000 }]);
    const shown = document.querySelector(".remark");
    expect(shown?.textContent).toMatch(/^≤ /);
    expect(shown?.getAttribute("title")).toMatch(/at the latest$/);
  });

  it.each([
    [["DefaultPreemption"], "waits for victims"],
    [["SchedulingGates"], "SchedulingGates"],
  ])("says of a pod that %s holds back what it waits for: %s", (plugins, want) => {
    draw([{ ...WAITING, queue: "gated", event: "ScheduleAttemptFailure", plugins }]);
    expect(document.querySelector("li .reason")?.textContent?.trim()).toBe(want);
    expect(document.querySelector("a.row")?.getAttribute("title")).toContain("An attempt at the pod failed");
  });

  it("says so when nobody waits, and has no box for it", () => {
    draw([]);
    expect(document.body.textContent).toContain("No pod waits.");
    expect(document.querySelector("input")).toBeNull();
  });
});
