import { mount, unmount } from "svelte";
import { afterEach, expect, it, vi } from "vitest";
import type { PodDetail, PodView } from "../../contract/api.gen";
import { i18n } from "../../i18n/index.svelte";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { fromSnapshot } from "../../live/state";
import PodFacts from "./PodFacts.svelte";

const POD: PodView = {
  uid: "u1",
  key: "default/web",
  node: "",
  phase: "Pending",
  priority: 0,
  requests: {},
  deleting: false,
  gated: false,
  nominated: "",
  reason: "Unschedulable",
  created_ms: 0,
  scheduler: "default-scheduler",
};
const DETAIL: PodDetail = {
  rv: 1,
  manifest: {},
  requests: {},
  queue: null,
  claims: [],
  status: "Pending",
  ready: 0,
  containers: 1,
  restarts: "0",
  owners: [],
  qos: "BestEffort",
  on_node: null,
  known_limits: [],
  in_vain: [],
};
const LIVE = fromSnapshot({
  cursor: [1, 1],
  cluster: CLUSTER,
  nodes: [],
  pods: [POD],
  queue: [],
  events: [],
  attempts: [],
  throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
  pods_left_out: 0,
});
let shown: ReturnType<typeof mount> | null = null;

afterEach(async () => {
  if (shown) void unmount(shown);
  shown = null;
  vi.unstubAllGlobals();
  await i18n.use("en");
});

async function show(name: string, said: Partial<PodDetail>): Promise<void> {
  const detail: PodDetail = { ...DETAIL, manifest: { metadata: { namespace: "default", name } }, ...said };
  document.body.replaceChildren();
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(detail)));
  shown = mount(PodFacts, {
    target: document.body,
    props: { live: LIVE, pod: { ...POD, key: `default/${name}` }, view: undefined },
  });
  await vi.waitFor(() => expect(document.body.textContent).toContain("BestEffort"));
}

const told = () => [...document.querySelectorAll(".limit")].map((each) => (each.textContent ?? "").trim());

it.each([
  ["en", "a fault of kube-scheduler 1.34.1"],
  ["zh-Hans", "kube-scheduler 1.34.1 的缺陷"],
] as const)(
  "tells of a fault that may be why the pod is pending, and leads to more about it: %s",
  async (language, words) => {
    await i18n.use(language);
    await show(`in-${language}`, { known_limits: ["namespaceselector-and-waiting"] });
    expect(told()).toEqual([expect.stringContaining(words)]);
    expect(document.querySelector(".limit a")?.getAttribute("href")).toBe(
      "/docs/known-limits#namespaceselector-and-waiting",
    );
  },
);

it("tells of none where none may be", async () => {
  await show("web", {});
  expect(told()).toEqual([]);
  expect(document.querySelector("section section")).toBeNull();
});

it.each([
  ["en", "Waits in vain", "PersistentVolume v: has no phase", "No controllers act in a frozen cluster"],
  ["zh-Hans", "无人处理的等待", "PersistentVolume v：没有 phase", "冻结的集群中没有控制器运行"],
] as const)("says what waits for controllers that do not act: %s", async (language, title, said, help) => {
  await i18n.use(language);
  const one = { kind: "PersistentVolume", count: 1, names: ["v"], message: "" };
  await show(`vain-${language}`, { in_vain: [{ ...one, reason: "volume-phase" }] });
  const box = document.querySelector(`[aria-label="${title}"]`);
  expect(box?.textContent).toContain(said);
  expect(box?.textContent).toContain(help);
});
