/** Every pending pod is counted once, wherever it is. */
import { flushSync } from "svelte";
import { describe, expect, it, vi } from "vitest";
import type { Amounts, CacheMoved, LiveEvent, PodView, QueueView } from "../../contract/api.gen";
import { i18n } from "../../i18n/index.svelte";
import { CPU } from "../../lib/__fixtures__/amounts";
import { pendingParts } from "../../lib/queues";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { livePod, liveState, queuedPod } from "../../live/__fixtures__/state";
import { applyEvent, applyFrame } from "../../live/apply";
import type { State } from "../../live/state";
import { answered } from "../__fixtures__/cards";
import { found, hrefs, show, texts } from "../__fixtures__/shown";
import Figures from "./Figures.svelte";
import PendingReasons from "./PendingReasons.svelte";
import Queues from "./Queues.svelte";

const queued = (name: string, queue: QueueView["queue"], node = "") => queuedPod(name, { queue, node });

const start = (pods: readonly PodView[], queue: readonly QueueView[], profiles = ["default-scheduler", "gpu"]) =>
  liveState({ cluster: { ...CLUSTER, profiles }, pods, queue });

const FULL = start(
  [
    livePod("a"),
    livePod("b"),
    livePod("c"),
    livePod("d"),
    livePod("e"),
    livePod("being-bound"),
    livePod("bound", { node: "n1" }),
    livePod("ended", { phase: "Failed", scheduler: "volcano" }),
    livePod("elsewhere", { node: "n1", scheduler: "volcano" }),
    livePod("late", { scheduler: "gpu" }),
    livePod("late-and-gated", { gated: true }),
    livePod("v2", { scheduler: "volcano", created_ms: 9 }),
    livePod("v1", { scheduler: "volcano", created_ms: 1, gated: true }),
    livePod("y", { scheduler: "yunikorn", created_ms: 5 }),
  ],
  [
    queued("a", "active"),
    queued("b", "backoff"),
    queued("c", "errorBackoff"),
    queued("d", "unschedulable"),
    queued("e", "gated"),
    queued("being-bound", "assumed", "n1"),
    queued("bound", "assumed", "n1"), // until the engine has heard of it
  ],
);

describe("the pods that are pending and in no queue", () => {
  const then = (state: State, ...events: LiveEvent[]): State => events.reduce(applyEvent, state);
  const names = ({ unqueued }: State): readonly string[] => [...unqueued.keys()];
  const put = (one: PodView): LiveEvent => ({ type: "pod_put", rv: 1, pod: one });
  const moved = (view: QueueView): LiveEvent => ({ type: "queue_move", seq: 1, move: view });
  const cached = (uid: string, kind: CacheMoved["kind"]): LiveEvent => {
    return { type: "cache_move", seq: 1, uid, key: `default/${uid}`, node: "n1", kind, at_ms: 0, attempts: 1 };
  };

  it("are kept up by every event that moves one", () => {
    const first = start([livePod("a"), livePod("b"), livePod("c", { node: "n1" })], [queued("b", "active")]);
    const came = then(first, put(livePod("d")));
    expect([names(first), names(came)]).toEqual([["a"], ["a", "d"]]);
    const seen = then(came, moved(queued("d", "active")));
    expect(names(seen)).toEqual(["a"]);
    expect(then(seen, put(livePod("b", { priority: 1 }))).unqueued).toBe(seen.unqueued); // views of it are not drawn again
    const left = then(seen, moved(queued("d", "")));
    expect(names(left)).toEqual(["a", "d"]);
    const bound = then(left, put(livePod("a", { node: "n1" })));
    expect(names(bound)).toEqual(["d"]);
    const held = then(bound, cached("d", "assumed"));
    expect(names(held)).toEqual([]);
    expect(names(then(held, cached("d", "forgotten")))).toEqual(["d"]);
    expect(names(then(bound, { type: "pod_deleted", rv: 1, uid: "d", key: "default/d" }))).toEqual([]);
  });
});

describe("pendingParts", () => {
  it("add up to all pending pods", () => {
    expect(pendingParts(FULL)).toEqual([
      ["active", 1],
      ["backoff", 2],
      ["unschedulable", 1],
      ["gated", 1],
      ["binding", 1],
      ["noProfile", 3],
      ["unseen", 2],
    ]);
    expect(pendingParts(FULL).reduce((sum, [, count]) => sum + count, 0)).toBe(FULL.pending);
    expect(pendingParts(start([], []))).toEqual([]);
  });
});

describe("Figures", () => {
  it.each([
    [
      "en",
      "1 active, 2 in backoff, 1 unschedulable, 1 gated, 1 being bound, 3 without a profile, 2 not yet seen by the scheduler",
    ],
    [
      "zh-Hans",
      "1 个活跃，2 个退避中，1 个不可调度，1 个受门控，1 个正在绑定，3 个没有对应的 profile，2 个调度器尚未看到",
    ],
  ] as const)("say in %s where the pending pods are", async (language, want) => {
    await i18n.use(language);
    show(Figures, { live: FULL });
    const shown = [texts(".figure")[0], texts(".card .note")[0]];
    await i18n.use("en");
    expect(shown).toEqual(["11", want]);
  });
});

describe("Queues", () => {
  it("end with pods that no profile has, the oldest first, and count those not seen yet", () => {
    show(Queues, { live: FULL });
    expect(texts(".states button").at(-1)).toBe("No profile 3");
    found(".states [data-lane=noProfile]").click();
    flushSync();
    expect(texts("li [data-lane=noProfile] .name .hidden")).toEqual(["v1", "y", "v2"]);
    expect(texts("li [data-lane=noProfile] .reason")).toEqual(["volcano", "yunikorn", "volcano"]);
    expect(hrefs("li [data-lane=noProfile]")[0]).toBe("#/clusters/1/pods/default/v1");
    found(".states [data-lane=noProfile]").click();
    expect(texts(".card-head .note")).toEqual(["7 pods · 3 without a profile · 2 not yet seen by the scheduler"]);
  });

  it("name no such place while there are none", () => {
    show(Queues, { live: start([livePod("a")], [queued("a", "active")]) });
    expect(texts(".states button")).toEqual(["Active 1"]);
    expect(texts(".card-head .note")).toEqual(["1 pod"]);
  });

  it("follow frames: a profile comes for the pods, and one goes", () => {
    const before = start([livePod("v", { scheduler: "volcano" })], []);
    const profiles = ["default-scheduler", "volcano"];
    const named = applyEvent(before, { type: "cluster_setting", rv: 1, cluster: { ...before.cluster, profiles } });
    expect(pendingParts(named)).toEqual([["unseen", 1]]);
    const move = { ...queued("v", "active") };
    const taken = applyFrame(named, {
      type: "frame",
      from: [1, 1],
      to: [2, 2],
      at: 0,
      events: [{ type: "queue_move", seq: 2, move }],
    });
    if (taken.kind !== "applied") throw new Error(taken.kind);
    expect(pendingParts(taken.state)).toEqual([["active", 1]]);
    const gone = applyEvent(taken.state, { type: "cluster_setting", rv: 2, cluster: before.cluster });
    expect(pendingParts(gone)).toEqual([["active", 1]]); // until the engine was made anew, which a snapshot tells
    expect(pendingParts(start([...gone.pods.values()], []))).toEqual([["noProfile", 1]]);
  });
});

describe("PendingReasons", () => {
  it("say what pods ask and how near the nearest comes", async () => {
    const cpu: Amounts = { ...CPU, nodes: 2, asked: 16_000, there: 15_750, node: "n7" };
    const amounts = [
      { pods: 12, asked_least: 16_000, asked_most: 64_000, pod: "web/a", amounts: cpu },
      {
        pods: 3,
        asked_least: null,
        asked_most: null,
        pod: "web/b",
        amounts: { ...cpu, subject: "gpu:NoSchedule", kind: "taint" },
      },
    ];
    const reason = { plugin: "NodeResourcesFit", reason: "no", pods: 15, nodes: 30, share: 9, examples: [], amounts };
    const unqueued = { no_profile: {}, unseen: 0 };
    const answer = { pods: 15, queues: {}, unqueued, profiles: ["default-scheduler"], reasons: [reason] };
    vi.stubGlobal("fetch", async ({ url }: Request) => {
      return answered(url.includes("/pods") ? { pods: [] } : answer);
    });
    show(PendingReasons, { clusterId: 32, count: 15 });
    const first = "12 pods ask 16 to 64, the nearest is web/a · Asks 16; the most free is 15.75 of 16, on n7.";
    await vi.waitFor(() => expect(texts(".amounts")).toEqual([first]));
    expect(hrefs(".amounts a")).toEqual(["#/clusters/32/pods/web/a", "#/clusters/32/nodes/n7"]);
    document.querySelector("button")?.click();
    await vi.waitFor(() =>
      expect(texts(".amounts")).toEqual([
        first,
        "3 pods, such as web/b · Not tolerated: gpu:NoSchedule, on 2 nodes such as n7.",
        "60 % of the nodes · 30 rejections, counted per pod and node",
      ]),
    );
    document.querySelector("button")?.click();
  });

  it("name the profile that pods ask for in vain", async () => {
    const unqueued = { no_profile: { volcano: 2, yunikorn: 1 }, unseen: 0 };
    const answer = { pods: 3, queues: {}, unqueued, profiles: ["default-scheduler", "gpu"], reasons: [] };
    vi.stubGlobal("fetch", async () => answered(answer));
    show(PendingReasons, { clusterId: 31, count: 3 });
    await vi.waitFor(() =>
      expect(texts("li")).toEqual([
        "No profile is called volcano; the configuration has default-scheduler, gpu 2 pods",
        "No profile is called yunikorn; the configuration has default-scheduler, gpu 1 pod",
      ]),
    );
    expect(document.querySelector(".none")).toBeNull();
  });
});
