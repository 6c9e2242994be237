import { afterEach, expect, it, vi } from "vitest";
import type { PodDetail, PodView } from "../../contract/api.gen";
import { i18n } from "../../i18n/index.svelte";
import { liveState, POD } from "../../live/__fixtures__/state";
import { answered } from "../__fixtures__/cards";
import { found, hrefs, said, show, texts } from "../__fixtures__/shown";
import PodFacts from "./PodFacts.svelte";

const PENDING: PodView = { ...POD, reason: "Unschedulable" };
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
const LIVE = liveState({ pods: [PENDING] });

afterEach(() => i18n.use("en"));

async function open(name: string, more: Partial<PodDetail>): Promise<void> {
  const detail: PodDetail = { ...DETAIL, manifest: { metadata: { namespace: "default", name } }, ...more };
  vi.stubGlobal("fetch", async () => answered(detail));
  show(PodFacts, { live: LIVE, pod: { ...PENDING, key: `default/${name}` }, view: undefined });
  await vi.waitFor(() => expect(said()).toContain("BestEffort"));
}

it.each([
  ["en", "a fault of kube-scheduler 1.34.1"],
  ["zh-Hans", "kube-scheduler 1.34.1 的缺陷"],
] as const)(
  "tells of a fault that may be why the pod is pending, and leads to more about it: %s",
  async (language, words) => {
    await i18n.use(language);
    await open(`in-${language}`, { known_limits: ["namespaceselector-and-waiting"] });
    expect(texts(".limit")).toEqual([expect.stringContaining(words)]);
    expect(hrefs(".limit a")).toEqual(["/docs/known-limits#namespaceselector-and-waiting"]);
  },
);

it("tells of none where none may be", async () => {
  await open("web", {});
  expect(texts(".limit")).toEqual([]);
  expect(document.querySelector("section section")).toBeNull();
});

it.each([
  ["en", "Waits in vain", "PersistentVolume v: has no phase", "No controllers act in a frozen cluster"],
  ["zh-Hans", "无人处理的等待", "PersistentVolume v：没有 phase", "冻结的集群中没有控制器运行"],
] as const)("says what waits for controllers that do not act: %s", async (language, title, what, help) => {
  await i18n.use(language);
  const one = { kind: "PersistentVolume", count: 1, names: ["v"], message: "" };
  await open(`vain-${language}`, { in_vain: [{ ...one, reason: "volume-phase" }] });
  const box = found(`[aria-label="${title}"]`).textContent;
  expect(box).toContain(what);
  expect(box).toContain(help);
});
