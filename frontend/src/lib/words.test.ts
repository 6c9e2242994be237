import { describe, expect, it } from "vitest";
import type { Cluster, PodView } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { CLUSTER } from "../live/__fixtures__/cluster";
import { liveState, POD, QUEUED } from "../live/__fixtures__/state";
import { stateText, untriedText } from "./words";

const BOUND: PodView = { ...POD, node: "n1" };

function stateOf(lifecycle_mode: Cluster["lifecycle_mode"], profiles = CLUSTER.profiles) {
  return liveState({ cluster: { ...CLUSTER, lifecycle_mode, profiles }, pods: [BOUND] });
}

describe("the state of a pod with a node", () => {
  it.each([
    ["simulate", "Pending", "Bound to n1, starting"],
    ["frozen", "Pending", "Bound to n1"],
    ["frozen", "Running", "Running on n1"],
  ] as const)("in a cluster that is to %s, in phase %s, is %s", (mode, phase, want) => {
    expect(stateText(stateOf(mode), { ...BOUND, phase }, undefined, 0)).toBe(want);
  });
});

describe("the state of a pod in backoff", () => {
  it.each(["backoff", "errorBackoff"] as const)("says of %s that its end is the latest", (queue) => {
    const view = { ...QUEUED, queue, backoff_until_ms: 9_000 };
    expect(stateText(stateOf("frozen"), POD, view, 0)).toMatch(/retried in 9 s at the latest$/);
  });
});

describe("the state of a pod that is held back", () => {
  it.each<[string, boolean, readonly string[], RegExp]>([
    ["by its gates", true, ["SchedulingGates"], /^Gated: not tried until its scheduling gates are removed$/],
    ["by its gates, after it preempted", true, ["DefaultPreemption"], /^Gated: not tried/],
    ["by its preemption", false, ["DefaultPreemption", "NodeResourcesFit"], /^Preemption is under way: .* victims/],
    ["by a plugin of one's own", false, ["Quota"], /^Held back by Quota: /],
  ])("%s", (_by, gated, plugins, want) => {
    const view = { ...QUEUED, queue: "gated", plugins: [...plugins] } as const;
    expect(stateText(stateOf("frozen"), { ...POD, gated }, view, 0)).toMatch(want);
  });
});

describe("the state of a pod that no queue has", () => {
  const HAS = ["default-scheduler", "gpu"];
  it.each<[string, Partial<PodView>, readonly string[], string]>([
    [
      "no profile has it",
      { scheduler: "volcano" },
      HAS,
      "No profile is called volcano; the configuration has default-scheduler, gpu",
    ],
    ["no profile has it, and it is gated", { scheduler: "volcano", gated: true }, HAS, "No profile is called volcano;"],
    ["the second profile has it", { scheduler: "gpu" }, HAS, "Not yet seen by the scheduler"],
    ["it is gated and not seen yet", { gated: true }, HAS, "Gated: not tried"],
    ["nobody told which profiles there are", { scheduler: "volcano" }, [], "Not yet seen by the scheduler"],
    ["it is being deleted", { scheduler: "volcano", deleting: true }, HAS, "Being deleted"],
    ["another scheduler has bound it", { scheduler: "volcano", node: "n1" }, HAS, "Bound to n1"],
  ])("when %s", (_when, more, profiles, want) => {
    expect(stateText(stateOf("frozen", profiles), { ...POD, ...more }, undefined, 0)).toContain(want);
  });

  it("is that of its queue while the engine has not left it", () => {
    const view = { ...QUEUED, queue: "unschedulable" } as const;
    const pod = { ...POD, scheduler: "volcano" };
    expect(stateText(stateOf("frozen", HAS), pod, view, 0)).toMatch(/^Unschedulable/);
  });

  it("is said in Chinese", async () => {
    await i18n.use("zh-Hans");
    const text = stateText(stateOf("frozen", HAS), { ...POD, scheduler: "volcano" }, undefined, 0);
    await i18n.use("en");
    expect(text).toBe("没有名为 volcano 的 profile；配置中有 default-scheduler, gpu");
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
    ["has no profile", { node: "", gated: false, scheduler: "volcano" }, false, "The scheduler does not try this pod"],
    ["has no profile in a mirror", { node: "", scheduler: "volcano" }, true, "The scheduler does not try this pod"],
  ])("%s", (_, pod, is_mirror, said) => {
    expect(untriedText({ ...POD, ...pod }, { ...CLUSTER, is_mirror })).toContain(said);
  });
});
