import { flushSync, mount, unmount } from "svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AttemptDetail } from "../../contract/api.gen";
import { openedBy } from "../../lib/view";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { fromSnapshot } from "../../live/state";
import { REPEATED } from "../__fixtures__/attempts";
import { PAGES, VIEWS } from "../index";
import DecisionPage from "./DecisionPage.svelte";
import { decisionHref } from "./view";

vi.setConfig({ testTimeout: 90_000 });
const SNAPSHOT = {
  cursor: [1, 1] as [number, number],
  cluster: CLUSTER,
  nodes: [],
  pods: [],
  queue: [],
  events: [],
  attempts: [],
  throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
  pods_left_out: 0,
};
const LIVE = fromSnapshot(SNAPSHOT);
const STORED: AttemptDetail = { ...REPEATED, seed: 1, digest: "d", matrix: null };
let shown: ReturnType<typeof mount> | null = null;

afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

async function show(live = LIVE): Promise<HTMLElement> {
  shown = mount(DecisionPage, { target: document.body, props: { live, clusterId: 1, seq: STORED.seq } });
  await vi.waitFor(() => expect(document.querySelector(".page")?.textContent).not.toContain("Loading"), 60_000);
  flushSync();
  return document.body;
}

function answer(stored: AttemptDetail | null): void {
  vi.stubGlobal("fetch", async () => {
    const body = stored ?? { code: "not_found", message: "no" };
    return new Response(JSON.stringify(body), { status: stored ? 200 : 404 });
  });
}

describe("the page of an attempt", () => {
  it("has an address of its own, in the place of the dashboard", () => {
    const href = decisionHref(3, 90);
    expect(href).toBe("#/clusters/3/attempts/90");
    expect(openedBy(PAGES, href)?.values).toEqual({ clusterId: 3, seq: 90 });
    expect(openedBy(VIEWS, href)).toBeNull();
    expect(openedBy(PAGES, "#/clusters/3/pods/default/web/attempts/90")).toBeNull();
  });

  it("is headed by pod, number, result and time, and says what decided", async () => {
    answer(STORED);
    const page = await show();
    const head = page.querySelector("header")?.textContent?.replaceAll(/\s+/g, " ") ?? "";
    for (const word of ["default/web", "Attempt #25", "No node fits", "took 6.2 ms", "same result since #2"])
      expect(head).toContain(word);
    expect(head).toContain("Most common reason: Insufficient cpu (NodeResourcesFit), on 53 of 60 nodes.");
  });

  it("says that nothing is stored", async () => {
    answer(null);
    expect((await show()).textContent).toContain("No attempt is stored at this address");
  });

  it("stays while newer attempts come, and leads to them", async () => {
    answer(STORED);
    const made = { uid: "u1", key: "default/web", result: "scheduled", node: "n1", message: "", evaluated: 1 };
    const newer = { ...made, seq: 99, attempt: 26, feasible: 1, duration_us: 1, at_ms: 1 };
    const page = await show(fromSnapshot({ ...SNAPSHOT, attempts: [newer] }));
    expect(page.querySelector("h2")?.textContent).toContain("#25");
    expect(page.querySelector(".newer a")?.getAttribute("href")).toBe(decisionHref(1, 99));
  });
});
