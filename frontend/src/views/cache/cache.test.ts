import { flushSync } from "svelte";
import { beforeEach, expect, it, vi } from "vitest";
import type { CacheNode, CachePod, SchedulerCache } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { openedBy } from "../../lib/view";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { router } from "../../state/route.svelte";
import { PAGES } from "..";
import { answered, refused } from "../__fixtures__/cards";
import { close, hrefs, said, show } from "../__fixtures__/shown";
import CachePage from "./CachePage.svelte";
import { nodeLine, podLine } from "./cells";
import { cacheHref } from "./view";

const POD: CachePod = {
  uid: "u1",
  key: "web/a",
  node: "n1",
  stage: "permit",
  assumed_at: "2026-11-25T22:55:00Z",
  attempt: 2,
  attempt_seq: 70,
  confirmed_at: null,
  awaits: ["Gang"],
  until: null,
};
const NODE: CacheNode = {
  name: "n1",
  generation: 31,
  snapshot_generation: 28,
  is_ghost: false,
  pods: 3,
  assumed: 1,
  changed: true,
};
const CACHE: SchedulerCache = {
  rv: 5,
  seq: 71,
  at: "2026-11-25T22:55:01Z",
  stepped_at: "2026-11-25T22:55:01Z",
  generation: 31,
  snapshot: { generation: 28, since: 20, changed: 1, dropped: ["n9"], behind: 1, nodes: 2 },
  assumed: 1,
  confirmed: 2,
  nodes_total: 2,
  nodes: [NODE, { ...NODE, name: "n2", generation: 8, snapshot_generation: 8, changed: false }],
  pods_found: 3,
  pods: [POD, { ...POD, uid: "u2", key: "web/b", stage: "confirmed", awaits: [], confirmed_at: POD.assumed_at }],
};
const live = { cluster: CLUSTER } as unknown as State;
const asked: string[] = [];
let answer: SchedulerCache | null = CACHE;

beforeEach(() => {
  answer = CACHE;
  asked.length = 0;
  queries.clear();
  location.hash = "";
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    asked.push(new URL(url).search);
    return answer ? answered(answer) : refused("not_replayable", "a mirror decides nothing", 409);
  });
});

async function shown(): Promise<string> {
  show(CachePage, { live, clusterId: 1 });
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve));
  flushSync();
  return said();
}

it("has an address of its own", () => {
  expect(openedBy(PAGES, cacheHref(1))?.values).toEqual({ clusterId: 1 });
});

it("says what the last snapshot changed, and lists pods", async () => {
  const text = await shown();
  for (const part of [
    "After the last step at 5.71",
    "It took over 1 node that had changed after generation 20: n1",
    "It took out 1 node: n9",
    "1 node changed since then",
    "2 of 3 loaded",
  ])
    expect(text).toContain(part);
  expect(hrefs("tbody a").slice(0, 3)).toEqual([
    "#/clusters/1/pods/web/a",
    "#/clusters/1/nodes/n1",
    "#/clusters/1/attempts/70",
  ]);
  expect(asked).toEqual(["?limit=2000"]);
});

it("lists nodes with their generations, and asks for what is sought", async () => {
  router.open(`${cacheHref(1)}?rows=nodes&find=N1`);
  const text = await shown();
  expect(text).toContain("Taken overChanged312831");
  expect(document.querySelector("[role=grid]")?.getAttribute("aria-rowcount")).toBe("3");
  expect(asked.at(-1)).toBe("?limit=2000&find=n1");
});

it("says that a mirror has none, and that nothing was done yet", async () => {
  answer = null;
  expect(await shown()).toContain("a mirror decides nothing");
  close();
  queries.clear();
  answer = { ...CACHE, stepped_at: null };
  expect(await shown()).toContain("The scheduler has made no step yet");
});

it.each([
  [{ stage: "permit" }, "Waits in Permit", "Gang"],
  [{ stage: "preBind", awaits: ["VolumeBinding"] }, "Waits in PreBind", "VolumeBinding"],
  [{ stage: "binding", awaits: [] }, "Being bound", "its binding"],
  [{ stage: "bound", awaits: [] }, "Bound, not confirmed", "to be seen on its node"],
  [{ stage: "confirmed", awaits: [] }, "Confirmed", "–"],
] as const)("%j is %s and waits for %s", (changes, stage, waits) => {
  const { cells } = podLine({ ...POD, ...changes }, 1);
  expect([cells[1]?.text, cells[6]?.text]).toEqual([stage, waits]);
});

it.each([
  [{}, "Taken over", "Changed"],
  [{ changed: false, generation: 28 }, "As before", "–"],
  [{ changed: null, generation: 28 }, "–", "–"],
  [{ changed: false, snapshot_generation: null }, "Not in it", "Changed"],
  [{ is_ghost: true, snapshot_generation: null }, "Not in it", "Deleted, pods left"],
  [{ generation: null }, "Taken over", "Deleted"],
] as const)("node with %j: %s, then %s", (changes, took, since) => {
  const { cells } = nodeLine({ ...NODE, ...changes }, 1);
  expect([cells[1]?.text, cells[2]?.text]).toEqual([took, since]);
});
