import { beforeEach, describe, expect, it, vi } from "vitest";
import type { NodeView } from "../../contract/api.gen";
import { actionsOf } from "../../lib/nodeActions";
import { healthOf } from "../../lib/nodeHealth";
import { isTainted, signsOf } from "../../lib/nodes";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { NODE } from "../__fixtures__/node";
import { show, texts } from "../__fixtures__/shown";
import NodeActions from "./NodeActions.svelte";
import NodeConditions from "./NodeConditions.svelte";

const SIMULATED = { ...CLUSTER, lifecycle_mode: "simulate" } as const;
const manifest = (annotations: Record<string, string> = {}) => ({
  metadata: { name: "n1", annotations },
  status: {
    conditions: [
      {
        type: "Ready",
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "m",
        lastTransitionTime: "2026-11-22T10:00:00Z",
      },
      { type: "MemoryPressure", status: "True", reason: "KubeletHasInsufficientMemory" },
      { type: "DiskPressure", status: "False" },
    ],
  },
});
const HEALTHY = healthOf(manifest());
let sent: [string, string, unknown][] = [];
let refusal: string | null = null;

beforeEach(() => {
  [sent, refusal] = [[], null];
  vi.stubGlobal("fetch", async (request: Request) => {
    const text = await request.text();
    sent.push([request.method, new URL(request.url).pathname, text ? JSON.parse(text) : null]);
    if (refusal) return new Response(JSON.stringify({ code: "conflict", message: refusal }), { status: 409 });
    return request.method === "DELETE" ? new Response(null, { status: 204 }) : new Response("{}");
  });
});

function buttons(name: string): HTMLButtonElement[] {
  return [...document.querySelectorAll("button")].filter((one) => one.textContent?.trim() === name);
}

describe("signsOf", () => {
  it.each<[string, Partial<NodeView>, readonly string[]]>([
    ["a ready one", {}, []],
    ["one that is not ready", { ready: false, taints: ["node.kubernetes.io/not-ready:NoExecute"] }, ["notReady"]],
    [
      "one nothing is heard of",
      { ready: false, taints: ["node.kubernetes.io/unreachable:NoSchedule"] },
      ["unreachable"],
    ],
    ["one under pressure", { taints: ["node.kubernetes.io/disk-pressure:NoSchedule"] }, ["pressure"]],
    ["a cordoned one", { unschedulable: true, taints: ["node.kubernetes.io/unschedulable:NoSchedule"] }, ["cordoned"]],
    ["one that is being drained", { unschedulable: true, drain: "draining" }, ["draining", "cordoned"]],
    ["one whose drain was asked for", { drain: "requested" }, ["draining"]],
    ["a drained one", { unschedulable: true, drain: "drained" }, ["drained", "cordoned"]],
    ["a tainted one", { taints: ["team=a:NoSchedule"] }, ["tainted"]],
  ])("of %s", (_what, more, want) => expect(signsOf({ ...NODE, ...more })).toEqual(want));

  it("counts a taint of others with a like name", () => {
    expect(isTainted({ ...NODE, taints: ["example.com/unreachable:NoExecute"] })).toBe(true);
  });
});

describe("healthOf", () => {
  it("says of each condition whether it is how it should be", () => {
    expect(HEALTHY.conditions.map(({ type, isGood }) => [type, isGood])).toEqual([
      ["Ready", null],
      ["MemoryPressure", false],
      ["DiskPressure", true],
    ]);
    expect(HEALTHY.conditions[0]?.sinceMs).toBe(Date.parse("2026-11-22T10:00:00Z"));
  });

  it("reads kubelet and drain, and takes a word it does not know for running", () => {
    const told = healthOf(
      manifest({
        "kschedweb.io/kubelet": "off",
        "kschedweb.io/kubelet-until": "2026-11-22T10:00:30Z",
        "kschedweb.io/drain": "draining",
        "kschedweb.io/drain-left": "3 pods left",
      }),
    );
    expect([told.kubelet, told.untilMs, told.drain, told.drainLeft]).toEqual([
      "off",
      Date.parse("2026-11-22T10:00:30Z"),
      "draining",
      "3 pods left",
    ]);
    expect(healthOf(manifest({ "kschedweb.io/kubelet": "what" })).kubelet).toBe("running");
    expect(healthOf({}).conditions).toEqual([]);
  });
});

describe("actionsOf", () => {
  const names = (...given: Parameters<typeof actionsOf>) => actionsOf(...given).map((action) => action.name);

  it("is what makes sense of the node as it is", () => {
    expect(names(SIMULATED, NODE, HEALTHY)).toEqual([
      "cordon",
      "drain",
      "stop",
      "partition",
      "off",
      "reboot",
      "delete",
    ]);
    const off = { ...HEALTHY, kubelet: "off", drain: "draining" } as const;
    expect(names(SIMULATED, { ...NODE, unschedulable: true }, off)).toEqual(["uncordon", "undrain", "back", "delete"]);
  });

  it("is little in a cluster in which nothing happens", () => {
    expect(names(CLUSTER, NODE, HEALTHY)).toEqual(["cordon", "delete"]);
  });
});

describe("NodeActions", () => {
  beforeEach(() => show(NodeActions, { cluster: SIMULATED, node: NODE, health: HEALTHY }));

  it("asks before what harms, saying what follows, and then does it", async () => {
    buttons("Power off")[0]?.click();
    await vi.waitFor(() => expect(buttons("Power off")).toHaveLength(2));
    expect(sent).toEqual([]);
    expect(document.querySelector("[role=group]")?.textContent).toContain("300 s later");
    expect(document.activeElement).toBe(buttons("Power off")[1]);
    buttons("Power off")[1]?.click();
    await vi.waitFor(() => expect(sent).toEqual([["PATCH", "/api/clusters/1/nodes/n1", { kubelet: "off" }]]));
    await vi.waitFor(() => expect(buttons("Power off")).toHaveLength(1));
    expect(document.activeElement).toBe(buttons("Power off")[0]);
  });

  it("deletes a node", async () => {
    buttons("Delete node")[0]?.click();
    await vi.waitFor(() => expect(buttons("Delete node")).toHaveLength(2));
    buttons("Delete node")[1]?.click();
    await vi.waitFor(() => expect(sent).toEqual([["DELETE", "/api/clusters/1/objects/Node/n1", null]]));
  });

  it("does nothing when it is cancelled by Escape", async () => {
    buttons("Drain")[0]?.click();
    await vi.waitFor(() => expect(buttons("Drain")).toHaveLength(2));
    const key = new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true });
    buttons("Drain")[1]?.dispatchEvent(key);
    await vi.waitFor(() => expect(buttons("Drain")).toHaveLength(1));
    expect([key.defaultPrevented, sent]).toEqual([true, []]);
  });

  it("says what the service refuses", async () => {
    refusal = "nothing happens to the nodes of a frozen cluster";
    buttons("Cordon")[0]?.click();
    await vi.waitFor(() => expect(document.querySelector("[role=alert]")?.textContent).toBe(refusal));
    expect(sent[0]?.[2]).toEqual({ unschedulable: true });
  });
});

describe("NodeConditions", () => {
  it("says how kubelet and drain are", () => {
    const health = { ...HEALTHY, kubelet: "partitioned", drain: "draining", drainLeft: "2 pods left" } as const;
    show(NodeConditions, { health });
    const [told] = texts("[role=status]");
    for (const text of ["Cut off by a network partition", "Draining", "2 pods left"]) expect(told).toContain(text);
    expect(texts("li .type")).toEqual(["Ready", "MemoryPressure", "DiskPressure"]);
  });
});
