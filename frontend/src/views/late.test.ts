/** A panel that is closed while its questions are on their way: their answers disturb nobody. */
import { flushSync, tick } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openedBy } from "../lib/view";
import { liveState, POD } from "../live/__fixtures__/state";
import { router } from "../state/route.svelte";
import { REPEATED } from "./__fixtures__/attempts";
import Late from "./__fixtures__/Late.svelte";
import { NODE } from "./__fixtures__/node";
import { close, show } from "./__fixtures__/shown";
import { VIEWS } from "./index";
import { nodeHref } from "./node/view";
import { podHref } from "./pod/view";

vi.setConfig({ testTimeout: 90_000 });
const LIVE = liveState({ nodes: [NODE], pods: [POD] });

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
  ["a pod's history", podHref(1, POD.key), "/history", () => undefined],
  ["an attempt that the address names", `${podHref(1, POD.key, 4)}?seq=7`, "/attempts/7", () => undefined],
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
  show(Late, { live: LIVE, opened: () => openedBy(VIEWS, router.hash) });
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
  close();
  expect(warned.mock.calls.filter((said: readonly unknown[]) => String(said[0]).includes("derived_inert"))).toEqual([]);
  expect(rejected).toEqual([]);
});
