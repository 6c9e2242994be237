import { beforeEach, describe, expect, it, vi } from "vitest";
import { api } from "../../api/client";
import type { FitSuggestion } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { store } from "../../state/store.svelte";
import { answered, refused } from "../__fixtures__/cards";
import { FITS } from "../__fixtures__/fits";
import { found, press, said, show, texts } from "../__fixtures__/shown";
import WhatFits from "./WhatFits.svelte";

vi.setConfig({ testTimeout: 90_000 });
type Told = [string, FitSuggestion, boolean];
const ask = () => api.podFits(1, "default/web");
const apply = (id: number, ...what: Told) => api.fitApply(id, "default/web", ...what);
const OF_POD = { clusterId: 1, about: ["default/web", 1], ask };
const WRITTEN = { node: "n1", writes: [{ verb: "patch", kind: "Node", namespace: "", name: "n1" }] };
const CHANGE = { kind: "uncordon", field: "", old: "", new: "", node: "n1", pods: [], more: [], of: "" };
let asked: string[] = [];
let posted: [string, unknown][] = [];

beforeEach(() => {
  queries.clear();
  [asked, posted] = [[], []];
});

/** The service answers questions so, and what is posted to a path with what is written. */
function answer(toQuestions: Response, toPosted = (_path: string) => answered(WRITTEN)): void {
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    if (request.method !== "POST") return toQuestions.clone();
    posted.push([pathname, await request.json()]);
    return toPosted(pathname);
  });
}

const says = (part: string) => vi.waitFor(() => expect(said()).toContain(part), 60_000);

describe("the card that says what would make a pod fit", () => {
  it("asks when it is asked, and lists the changes with the node and who goes", async () => {
    answer(answered(FITS));
    show(WhatFits, OF_POD);
    expect(asked).toEqual([]);
    found("button").click();
    await says("Uncordon n1");
    expect(asked).toEqual(["/api/clusters/1/pods/default/web/fits"]);
    expect(said()).toContain("preemption would make room on n2: d/x");
    expect(said()).toContain("Evict pods from n2: d/x");
  });

  it.each([
    ["names what is written before it is written", "it", OF_POD, apply, "pods/default/web", { uid: "u-web" }],
    [
      "carries out what is for all pods of a workload",
      "all its pods",
      { clusterId: 1, about: ["d/web"], ask: () => api.workloadFits(1, "Deployment", "d/web"), all: true },
      (id: number, _: string, ...what: [FitSuggestion, boolean]) =>
        api.workloadFitApply(id, "Deployment", "d/web", ...what),
      "workloads/Deployment/d/web",
      {},
    ],
  ] as const)("%s", async (_does, what, props, write, path, uid) => {
    answer(answered({ ...FITS, uid: "", ...uid }));
    show(WhatFits, { ...props, apply: write });
    press(`What would make ${what} fit?`);
    await says("Uncordon");
    press("Carry out…");
    await says("change Node n1");
    const told = (dry_run: boolean) => [`/api/clusters/1/${path}/fits`, { changes: [CHANGE], ...uid, dry_run }];
    expect(posted).toEqual([told(true)]);
    press("Write it");
    await says("Written: change Node n1");
    expect(posted).toEqual([told(true), told(false)]);
  });

  it("writes to a copy of a cluster that is only read, once that is there", async () => {
    const mayCreate = vi.spyOn(store, "mayCreate", "get").mockReturnValue(true);
    answer(answered(FITS), (path) => {
      if (path === "/api/forks") return answered({ id: 7 }, 201);
      return posted.length === 2 ? refused("not_found", "", 404) : answered(WRITTEN);
    });
    show(WhatFits, { ...OF_POD, apply, isReadOnly: true });
    found("button").click();
    await says("Uncordon");
    expect(texts("button")).toEqual(["In a copy", "In a copy"]);
    found("button").click();
    await says("Written in a copy");
    expect(posted.map(([path]) => path)).toEqual([
      "/api/forks",
      ...Array(2).fill("/api/clusters/7/pods/default/web/fits"),
    ]);
    expect(found("a[href*='clusters/7']").textContent).toBe("Open the copy");
    mayCreate.mockRestore();
  });

  it.each<[string, object, boolean, string]>([
    [
      "what is so for all pods of a workload",
      { pods: ["d/a", "d/b"], places: [{ pod: "d/a", node: "n1" }] },
      true,
      "1 of 2 waiting pods fit",
    ],
    ["that nothing is needed", { node: "n3" }, false, "it fits as it is, on n3"],
    ["that nothing is known", { preemption: null, suggestions: [] }, false, "Neither one change nor two"],
  ])("says %s", async (_what, fits, all, part) => {
    answer(answered({ ...FITS, ...fits }));
    show(WhatFits, { ...OF_POD, all });
    expect(said()).toContain(`What would make ${all ? "all its pods" : "it"} fit`);
    found("button").click();
    await says(part);
  });

  it("says what went wrong", async () => {
    answer(refused("invalid", "the pod is on n1", 422));
    show(WhatFits, OF_POD);
    found("button").click();
    await says("the pod is on n1");
  });
});
