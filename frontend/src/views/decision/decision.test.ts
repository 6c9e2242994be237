import { flushSync } from "svelte";
import { describe, expect, it, vi } from "vitest";
import type { Attempt, AttemptDetail } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { openedBy } from "../../lib/view";
import { liveState } from "../../live/__fixtures__/state";
import { router } from "../../state/route.svelte";
import { ATTEMPT, REPEATED } from "../__fixtures__/attempts";
import { answered, refused } from "../__fixtures__/cards";
import { show } from "../__fixtures__/shown";
import { PAGES, VIEWS } from "../index";
import DecisionPage from "./DecisionPage.svelte";
import { decisionHref } from "./view";

vi.setConfig({ testTimeout: 90_000 });
const STORED: AttemptDetail = { ...REPEATED, seed: 1, digest: "d", matrix: null };
const EARLIER: Attempt = { ...ATTEMPT, seq: 5, attempt: 1, last_attempt: 1, rejections: [] };

async function open(live = liveState()): Promise<HTMLElement> {
  show(DecisionPage, { live, clusterId: 1, seq: STORED.seq });
  await vi.waitFor(() => expect(document.querySelector(".page")?.textContent).not.toContain("Loading"), 60_000);
  flushSync();
  return document.body;
}

/** What REST says of the attempt, and of the pod's attempts; `next`: where older ones are. */
function answer(stored: AttemptDetail | null, next: string | null = null): void {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const isList = new URL(url).pathname.endsWith("/pods/default/web/attempts");
    const body = isList ? { results: [STORED, EARLIER], next } : stored;
    return body ? answered(body) : refused("not_found", "no", 404);
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
    const page = await open();
    const head = page.querySelector("header")?.textContent?.replaceAll(/\s+/g, " ") ?? "";
    for (const word of ["default/web", "Attempt #25", "No node fits", "took 6.2 ms", "same result since #2"])
      expect(head).toContain(word);
    expect(head).toContain("Most common reason: Insufficient cpu (NodeResourcesFit), on 53 of 60 nodes.");
  });

  it("says that nothing is stored", async () => {
    answer(null);
    expect((await open()).textContent).toContain("No attempt is stored at this address");
  });

  it("stays while newer attempts come, and leads to them", async () => {
    answer(STORED);
    const made = { uid: "u1", key: "default/web", result: "scheduled", node: "n1", message: "", evaluated: 1 };
    const newer = { ...made, seq: 99, attempt: 26, feasible: 1, duration_us: 1, at_ms: 1 };
    const page = await open(liveState({ attempts: [newer] }));
    expect(page.querySelector("h2")?.textContent).toContain("#25");
    expect(page.querySelector(".newer a")?.getAttribute("href")).toBe(decisionHref(1, 99));
  });

  it("compares it with another of the pod's attempts, the earlier one first", async () => {
    answer(STORED);
    router.open(`${decisionHref(1, STORED.seq)}?other=5`);
    await vi.waitFor(() => expect(router.hash).toContain("other=5"));
    const page = await open();
    await vi.waitFor(() => expect(page.querySelector("table")).not.toBeNull(), 60_000);
    const rows = [...page.querySelectorAll("table tr")].map((row) =>
      [...row.children].map((cell) => cell.textContent).join(" "),
    );
    expect(rows).toContain("NodeResourcesFit: Insufficient cpu 0 53 +53");
    expect(rows[0]).toBe("Figure #1 #25 Difference");
  });

  it("says of how many it lists that they are the newest where there are older ones", async () => {
    queries.clear();
    answer(STORED, "/api/attempts?cursor=x");
    const page = await open();
    await vi.waitFor(() => expect(page.textContent).toContain("All attempts · newest 25"), 60_000);
    expect([...page.querySelectorAll("button")].map((one) => one.textContent)).not.toContain("Load older attempts");
  });

  it("is left by Escape, but not from a field that has a text to clear", async () => {
    answer(STORED);
    router.open(decisionHref(1, STORED.seq));
    await vi.waitFor(() => expect(router.hash).toBe(decisionHref(1, STORED.seq)));
    const page = await open();
    const field = document.createElement("input");
    Object.assign(field, { type: "search", value: "n1" });
    page.querySelector(".page")?.append(field);
    const press = () => field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    press();
    expect(location.hash).toBe(decisionHref(1, STORED.seq));
    field.value = "";
    press();
    expect(location.hash).toContain("#/clusters/1/pods/default/web/attempts/25");
  });

  it("has its address and its JSON to be taken along", async () => {
    answer(STORED);
    const link = (await open()).querySelector("a[download]");
    expect(link?.getAttribute("href")).toBe("/api/clusters/1/attempts/9?limit=10000");
    expect(link?.getAttribute("download")).toBe("default-web-attempt-25.json");
  });

  it("is made again at its moment, with a node that was never looked at", async () => {
    const score = { raw: 1500, normalized: 80, weighted: 240 };
    const unscored = { total: null, scores: {}, total_of_all: null, scores_of_all: {} };
    const node = {
      looked_at: true,
      feasible: true,
      status: null,
      filters: [],
      amounts: null,
      trial: null,
      ...unscored,
    };
    const lacks = { plugin: "NodeResourcesFit", code: "Unschedulable", reasons: ["Insufficient cpu"] };
    const made = {
      seq: STORED.seq,
      difference: null,
      result: STORED.result,
      node_name: "",
      message: "",
      nodes_total: 60,
      looked_at: 40,
      fitting: 1,
      plugins: [],
      counts: [
        {
          plugin: "PodTopologySpread",
          rule: "spread",
          key: "zone",
          subject: "zone (app in (web))",
          most: 2,
          domains: [
            { domain: "a", count: 3 },
            { domain: "b", count: 0 },
          ],
          found: 2,
        },
      ],
      nodes: [
        {
          ...node,
          node: "n7",
          status: lacks,
          trial: { outcome: "candidate", status: null, victims: ["default/low"], num_pdb_violations: 1 },
        },
        { ...node, node: "n8", looked_at: false, total_of_all: 240, scores_of_all: { NodeAffinity: score } },
      ],
      found: 60,
    };
    const asked: string[] = [];
    answer(STORED);
    const stored = globalThis.fetch;
    vi.stubGlobal("fetch", async (request: Request) => {
      if (!new URL(request.url).pathname.endsWith("/again")) return stored(request);
      asked.push(new URL(request.url).search);
      return answered(made);
    });
    router.open(decisionHref(1, STORED.seq));
    await vi.waitFor(() => expect(router.hash).not.toContain("other"));
    const page = await open();
    expect(asked).toEqual([]); // not before it is wanted
    const field = page.querySelector<HTMLInputElement>("input[name=node]");
    if (!field) throw new Error("no field");
    field.value = " n8 ";
    field.form?.requestSubmit();
    const text = () => page.querySelector("section:has(input[name=node])")?.textContent?.replaceAll(/\s+/g, " ") ?? "";
    await vi.waitFor(() => expect(text()).toContain("Identical to its record."), 60_000);
    expect(asked).toEqual(["?nodes=n8"]);
    expect(router.hash).toContain("again=n8");
    for (const said of [
      "40 of 60 nodes were looked at; the pod fits on 1.",
      "NodeResourcesFit: Insufficient cpu",
      "Room comes by evicting 1 pod: default/low 1 victim more than allowed",
      "n8 not looked at then The pod fits there. Scores had every node been compared",
      "NodeAffinity1,50080240",
      "PodTopologySpread · matching pods by domain · zone (app in (web)) · at most 2 for the pod to fit: a (3), b (0)",
    ])
      expect(text()).toContain(said);
  });
});
