/** A panel that is closed while its questions are on their way: their answers disturb nobody. */
import { flushSync, mount, tick, unmount } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PodView } from "../contract/api.gen";
import { openedBy } from "../lib/view";
import { CLUSTER } from "../live/__fixtures__/cluster";
import { fromSnapshot } from "../live/state";
import { router } from "../state/route.svelte";
import { REPEATED } from "./__fixtures__/attempts";
import Late from "./__fixtures__/Late.svelte";
import { NODE } from "./__fixtures__/node";
import { VIEWS } from "./index";
import { nodeHref } from "./node/view";
import { podHref } from "./pod/view";

vi.setConfig({ testTimeout: 90_000 });
const KEY = "default/web";
const LIVE = fromSnapshot({
  cursor: [1, 1],
  cluster: CLUSTER,
  nodes: [NODE],
  pods: [{ uid: "u1", key: KEY, node: "", phase: "Pending", requests: {} } as PodView],
  queue: [],
  events: [],
  attempts: [],
  throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
  pods_left_out: 0,
});

/** By the end of their paths, in this order. */
const ANSWERS: readonly (readonly [string, unknown])[] = [
  ["/attempts/7", { ...REPEATED, seq: 7 }],
  ["/attempts", { results: [REPEATED], next: null }],
  ["/history", { pod_uid: "u1", entries: [] }],
  ["/refusals", { refusals: [], before: null }],
  ["/object-events", { events: [] }],
];
let waiting: { path: string; answer: () => void }[] = [];
let warned: ReturnType<typeof spied>;
const spied = () => vi.spyOn(console, "warn").mockImplementation(() => undefined);
const rejected: unknown[] = [];
const reject = (reason: unknown) => void rejected.push(reason);

beforeEach(() => {
  [waiting, rejected.length] = [[], 0];
  warned = spied();
  process.on("unhandledRejection", reject);
  vi.stubGlobal("fetch", ({ url }: Request) => {
    const path = new URL(url).pathname;
    const found = ANSWERS.find(([end]) => path.endsWith(end));
    const response = () =>
      new Response(JSON.stringify(found?.[1] ?? { code: "not_found" }), { status: found ? 200 : 404 });
    return new Promise((resolve) => waiting.push({ path, answer: () => resolve(response()) }));
  });
});

afterEach(() => {
  process.off("unhandledRejection", reject);
  warned.mockRestore();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

async function asked(end: string): Promise<void> {
  await vi.waitFor(
    () => expect(waiting.map(({ path }) => path)).toContainEqual(expect.stringMatching(`${end}$`)),
    60_000,
  );
}

/** All that is asked, and what is asked because of it, is answered. */
async function answerAll(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    for (const { answer } of waiting.splice(0)) answer();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

it.each<[string, string, string, (host: HTMLElement) => void]>([
  ["a pod's history", podHref(1, KEY), "/history", () => undefined],
  ["an attempt that the address names", `${podHref(1, KEY, 4)}?seq=7`, "/attempts/7", () => undefined],
  [
    "the rejections on a node",
    `${nodeHref(1, "n1")}?rejections=yes`,
    "/refusals",
    (host) => {
      for (const details of host.querySelectorAll("details")) details.dispatchEvent(new Event("toggle"));
    },
  ],
])("closed while %s is asked for", async (_what, href, end, open) => {
  router.open(href);
  await vi.waitFor(() => expect(router.hash).toBe(href));
  const shown = mount(Late, {
    target: document.body,
    props: { live: LIVE, opened: () => openedBy(VIEWS, router.hash) },
  });
  await vi.waitFor(() => expect(document.querySelector("aside")).not.toBeNull(), 60_000);
  await tick();
  open(document.body);
  flushSync();
  if (end === "/attempts/7") {
    await asked("/attempts");
    for (const one of waiting.splice(0)) if (one.path.endsWith("/attempts")) one.answer();
  }
  await asked(end);
  router.open("#/clusters/1");
  await vi.waitFor(() => expect(document.querySelector("aside")).toBeNull());
  flushSync();
  await answerAll();
  void unmount(shown);
  expect(warned.mock.calls.filter((said: readonly unknown[]) => String(said[0]).includes("derived_inert"))).toEqual([]);
  expect(rejected).toEqual([]);
});
