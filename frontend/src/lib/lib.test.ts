import { describe, expect, it } from "vitest";
import { layOut, stepOf } from "../charts/node_grid";
import { livePod, liveState, queuedPod } from "../live/__fixtures__/state";
import { clusterIdOf } from "../state/route.svelte";
import { VIEWS } from "../views";
import { nodeView } from "../views/node/view";
import { podView } from "../views/pod/view";
import { bytes, cpu, duration, quantity, span } from "./format";
import { lanesOf } from "./queues";
import {
  flag,
  followed,
  objectKey,
  oneOf,
  openedBy,
  place,
  settingsIn,
  view,
  whole,
  withSettings,
  words,
} from "./view";
import { toYaml } from "./yaml";

describe("format", () => {
  it.each([
    [cpu(0), "0"],
    [cpu(250), "250m"],
    [cpu(4000), "4"],
    [cpu(10_750), "10.8"],
    [cpu(26_928_000), "26,928"],
    [bytes(0), "0 B"],
    [bytes(1 << 20), "1 Mi"],
    [bytes(1.5 * 2 ** 40), "1.5 Ti"],
    [quantity("nvidia.com/gpu", 3), "3"],
    [quantity("example.com/gpu-milli", 7300), "7,300"],
    [span(-5), "0 s"],
    [span(59_400), "59 s"],
    [span(61_000), "1 min 1 s"],
    [span(61_000, 1), "1 min"],
    [span(3_660_000, 1), "1 h"],
    [span(3_600_000), "1 h"],
    [span(3 * 86_400_000), "3 d"],
    [duration(900), "900 µs"],
    [duration(1834), "1.83 ms"],
    [duration(2_000_000), "2 s"],
  ])("writes %s", (got, want) => expect(got).toBe(want));
});

describe("view", () => {
  const read = (hash: string) => ({ cluster: clusterIdOf(hash), ...podView.match(hash), ...nodeView.match(hash) });

  it.each([
    ["", { cluster: null }],
    ["#/clusters/7", { cluster: 7 }],
    ["#/clusters/7/pods/shop/web-1", { cluster: 7, clusterId: 7, key: "shop/web-1", attempt: null }],
    ["#/clusters/7/pods/shop/web-1/attempts/812", { cluster: 7, clusterId: 7, key: "shop/web-1", attempt: 812 }],
    ["#/clusters/7/pods/shop/web-1/attempts/x", { cluster: 7, clusterId: 7, key: "shop/web-1", attempt: null }],
    ["#/clusters/7/pods/shop", { cluster: 7 }],
    ["#/clusters/7/nodes/node%2F1", { cluster: 7, clusterId: 7, name: "node/1" }],
    ["#/clusters/x/pods/a/b", { cluster: null }],
    ["#/clusters/7/pods/%E0%A4%A/b", { cluster: 7, clusterId: 7, key: "%E0%A4%A/b", attempt: null }],
  ])("reads %s", (hash, want) => expect(read(hash)).toEqual(want));

  it.each([null, 5])("reads back what it writes, with the attempt %s", (attempt) => {
    const values = { clusterId: 3, key: "a b/c%d", attempt };
    expect(podView.match(podView.href(values))).toEqual(values);
  });

  it("stays the same view while only what may be left out changes", () => {
    const opened = ["#/clusters/7/pods/a/b", "#/clusters/7/pods/a/b/attempts/8", "#/clusters/7/pods/a/c"].map((hash) =>
      openedBy(VIEWS, hash),
    );
    expect(opened.map((one) => one?.identity)).toEqual([
      "#/clusters/7/pods/a/b",
      "#/clusters/7/pods/a/b",
      "#/clusters/7/pods/a/c",
    ]);
    expect(openedBy(VIEWS, "#/clusters/7")).toBeNull();
  });
});

describe("queues", () => {
  it("orders the active lane by priority, then by waiting time", () => {
    const view = (uid: string, since_ms: number) => queuedPod(uid, { since_ms });
    const pod = (uid: string, priority: number) => livePod(uid, { priority });
    const waits = { queue: "unschedulable" as const };
    const state = liveState({
      pods: [pod("low", 0), pod("late", 5), pod("early", 5), pod("long", 0), { ...pod("soon", 0), nominated: "n7" }],
      queue: [
        view("low", 1),
        view("late", 9),
        view("early", 2),
        { ...view("long", 1), ...waits },
        { ...view("soon", 8), ...waits },
      ],
    });
    expect(lanesOf(state).active.map((waiting) => waiting.view.uid)).toEqual(["early", "late", "low"]);
    // A pod for which room is being made comes first: it will not stay long.
    expect(lanesOf(state).unschedulable.map((waiting) => waiting.view.uid)).toEqual(["soon", "long"]);
    const nominated = new Map(state.pods);
    const long = nominated.get("long");
    if (long) nominated.set("long", { ...long, nominated: "n1" });
    const renominated = lanesOf({ ...state, pods: nominated }, lanesOf(state)).unschedulable;
    expect(renominated.find((waiting) => waiting.view.uid === "long")?.pod?.nominated).toBe("n1");
    const before = lanesOf(state);
    const moved = new Map(state.queue).set("late", view("late", 1)).set("new", view("new", 0));
    moved.delete("early");
    const after = lanesOf({ ...state, queue: moved }, before);
    expect(after.active.map((waiting) => waiting.view.uid)).toEqual(["late", "new", "low"]);
    expect(after).toEqual(lanesOf({ ...state, queue: moved }));
  });
});

describe("node grid", () => {
  it.each([
    [0, 0],
    [0.001, 1],
    [0.5, 4],
    [1, 7],
  ])("gives the share %d colour %d", (share, step) => expect(stepOf(share)).toBe(step));

  it("shrinks cells until 1,523 nodes fit", () => {
    const cells = Array.from({ length: 1523 }, (_, index) => ({
      name: `n${index}`,
      share: 0,
      pods: 0,
      cordoned: false,
      tainted: false,
      ready: true,
      unreachable: false,
      draining: false,
      pressure: false,
    }));
    const layout = layOut([{ label: "all", cells }], 900, 400);
    expect(layout.height).toBeLessThanOrEqual(400);
    expect(layout.size).toBeGreaterThanOrEqual(10);
    expect(layout.places.length).toBe(1523);
    expect(Math.max(...layout.places.map((place) => place.x + layout.size))).toBeLessThanOrEqual(900);
  });
});

describe("yaml", () => {
  it("writes a manifest as kubectl would", () => {
    const manifest = {
      kind: "Pod",
      metadata: { labels: { tier: "1", "app.kubernetes.io/name": "x" } },
      spec: { containers: [{ name: "a", args: ["--x", "y: z"], resources: {} }], tolerations: [] },
    };
    expect(toYaml(manifest)).toBe(
      `kind: Pod
metadata:
  labels:
    tier: "1"
    app.kubernetes.io/name: x
spec:
  containers:
  - name: a
    args:
    - "--x"
    - "y: z"
    resources: {}
  tolerations: []
`,
    );
  });
});

describe("settings of a view", () => {
  const settings = { sort: oneOf("walk", "node"), node: words(), all: flag, from: place };
  const initial = { sort: "walk", node: "", all: false, from: 0 } as const;

  it("are left out of the address while they are as at first", () => {
    expect(settingsIn(settings, "#/clusters/1")).toEqual(initial);
    expect(withSettings(settings, initial, "#/clusters/1?sort=node&all=yes")).toBe("#/clusters/1");
  });

  it("are read as they were written, and those of others stay", () => {
    const changed = { sort: "node", node: "a b/c?d&e=%", all: true, from: 50 } as const;
    const hash = withSettings(settings, changed, "#/clusters/1?other=x");
    expect(settingsIn(settings, hash)).toEqual(changed);
    expect(hash).toContain("other=x");
    expect(settingsIn(settings, withSettings(settings, { from: 0 }, hash))).toEqual({ ...changed, from: 0 });
  });

  it.each(["sort=up", "all=no", "from=-1", "from=1e3", "from=x", "sort", "%"])(
    "are as at first when %s is none",
    (written) => {
      expect(settingsIn(settings, `#/clusters/1?${written}`)).toEqual(initial);
    },
  );

  it("do not belong to the path", () => {
    expect(podView.match("#/clusters/1/pods/a/b?sort=node/x")).toEqual({ clusterId: 1, key: "a/b", attempt: null });
    expect(openedBy([podView], "#/clusters/1/pods/a/b?sort=node")?.identity).toBe("#/clusters/1/pods/a/b");
  });

  it("come along while their view stays, as far as they stay", () => {
    const load = () => Promise.reject(new Error("not loaded here"));
    const ground = view({ path: "/c/:id", params: { id: whole }, settings: { span: words() }, stays: ["span"], load });
    const pod = view({ path: "/c/:id/p/:key", params: { id: whole, key: objectKey }, settings, stays: ["all"], load });
    const go = (to: string) => followed([ground, pod], "#/c/1/p/a/b?span=day&all=yes&from=5", to);
    expect(go("#/c/1/p/a/b")).toBe("#/c/1/p/a/b?span=day&all=yes");
    expect(go("#/c/1/p/a/b?span=hour")).toBe("#/c/1/p/a/b?span=hour&all=yes");
    expect(go("#/c/1/p/a/b?span=")).toBe("#/c/1/p/a/b?all=yes");
    expect(go("#/c/1/p/a/other")).toBe("#/c/1/p/a/other?span=day");
    expect(go("#/c/1")).toBe("#/c/1?span=day");
    expect(go("#/c/2")).toBe("#/c/2");
  });
});
