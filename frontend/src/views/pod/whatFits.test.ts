import { mount, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { api } from "../../api/client";
import type { FitSuggestion } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { store } from "../../state/store.svelte";
import { FITS } from "../__fixtures__/fits";
import WhatFits from "./WhatFits.svelte";

vi.setConfig({ testTimeout: 90_000 });
type Told = [string, FitSuggestion, boolean];
let shown: ReturnType<typeof mount> | null = null;
let asked: string[] = [];

beforeEach(() => {
  queries.clear();
  asked = [];
});

afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function show(body: object, status = 200, all = false): () => string {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    asked.push(new URL(url).pathname);
    return new Response(JSON.stringify(body), { status });
  });
  const props = { clusterId: 1, about: ["default/web", 1], ask: () => api.podFits(1, "default/web"), all };
  shown = mount(WhatFits, { target: document.body, props });
  expect(asked).toEqual([]);
  document.querySelector("button")?.click();
  return () => document.body.textContent?.replaceAll(/\s+/g, " ") ?? "";
}

describe("the card that says what would make a pod fit", () => {
  it("asks when it is asked, and lists the changes with the node and who goes", async () => {
    const text = show(FITS);
    await vi.waitFor(() => expect(text()).toContain("Uncordon n1"), 60_000);
    expect(asked).toEqual(["/api/clusters/1/pods/default/web/fits"]);
    expect(text()).toContain("preemption would make room on n2: d/x");
    expect(text()).toContain("Evict pods from n2: d/x");
  });

  it("names what is written before it is written", async () => {
    const written = { node: "n1", writes: [{ verb: "patch", kind: "Node", namespace: "", name: "n1" }] };
    const bodies: unknown[] = [];
    vi.stubGlobal("fetch", async (request: Request) => {
      if (request.method === "POST") bodies.push(await request.json());
      return new Response(JSON.stringify(request.method === "POST" ? written : FITS));
    });
    const ask = () => api.podFits(1, "default/web");
    const apply = (id: number, ...what: Told) => api.fitApply(id, "default/web", ...what);
    const props = { clusterId: 1, about: ["default/web", 1], ask, apply };
    shown = mount(WhatFits, { target: document.body, props });
    const press = (label: string) =>
      [...document.querySelectorAll("button")].find((each) => each.textContent === label)?.click();
    press("What would make it fit?");
    await vi.waitFor(() => expect(document.body.textContent).toContain("Uncordon"), 60_000);
    press("Carry out…");
    await vi.waitFor(() => expect(document.body.textContent).toContain("change Node n1"), 60_000);
    const told = { kind: "uncordon", field: "", old: "", new: "", node: "n1", pods: [], more: [], of: "" };
    expect(bodies).toEqual([{ changes: [told], uid: "u-web", dry_run: true }]);
    press("Write it");
    await vi.waitFor(() => expect(document.body.textContent).toContain("Written: change Node n1"), 60_000);
    expect(bodies.at(-1)).toMatchObject({ dry_run: false });
  });

  it("writes to a copy of a cluster that is only read, once that is there", async () => {
    const written = { node: "n1", writes: [{ verb: "patch", kind: "Node", namespace: "", name: "n1" }] };
    const paths: string[] = [];
    vi.spyOn(store, "mayCreate", "get").mockReturnValue(true);
    vi.stubGlobal("fetch", async ({ method, url }: Request) => {
      const { pathname } = new URL(url);
      if (method === "POST") paths.push(pathname);
      if (pathname === "/api/forks") return new Response(JSON.stringify({ id: 7 }), { status: 201 });
      if (pathname.startsWith("/api/clusters/7/") && paths.length === 2)
        return new Response(JSON.stringify({ code: "not_found", message: "", extra: {} }), { status: 404 });
      return new Response(JSON.stringify(method === "POST" ? written : FITS));
    });
    const ask = () => api.podFits(1, "default/web");
    const apply = (id: number, ...what: Told) => api.fitApply(id, "default/web", ...what);
    const props = { clusterId: 1, about: ["default/web", 1], ask, apply, isReadOnly: true };
    shown = mount(WhatFits, { target: document.body, props });
    const buttons = () => [...document.querySelectorAll("button")];
    buttons()[0]?.click();
    await vi.waitFor(() => expect(document.body.textContent).toContain("Uncordon"), 60_000);
    expect(buttons().map((each) => each.textContent)).toEqual(["In a copy", "In a copy"]);
    buttons()[0]?.click();
    await vi.waitFor(() => expect(document.body.textContent).toContain("Written in a copy"), 60_000);
    expect(paths).toEqual(["/api/forks", ...Array(2).fill("/api/clusters/7/pods/default/web/fits")]);
    expect(document.querySelector("a[href*='clusters/7']")?.textContent).toBe("Open the copy");
  });

  it("carries out what is for all pods of a workload", async () => {
    const written = { node: "n1", writes: [{ verb: "patch", kind: "Node", namespace: "", name: "n1" }] };
    const sent: [string, unknown][] = [];
    vi.stubGlobal("fetch", async (request: Request) => {
      if (request.method === "POST") sent.push([new URL(request.url).pathname, await request.json()]);
      return new Response(JSON.stringify(request.method === "POST" ? written : { ...FITS, uid: "" }));
    });
    const apply = (id: number, _: string, ...what: [FitSuggestion, boolean]) =>
      api.workloadFitApply(id, "Deployment", "d/web", ...what);
    const ask = () => api.workloadFits(1, "Deployment", "d/web");
    shown = mount(WhatFits, {
      target: document.body,
      props: { clusterId: 1, about: ["d/web"], ask, apply, all: true },
    });
    const press = (label: string) =>
      [...document.querySelectorAll("button")].find((each) => each.textContent === label)?.click();
    press("What would make all its pods fit?");
    await vi.waitFor(() => expect(document.body.textContent).toContain("Uncordon"), 60_000);
    press("Carry out…");
    await vi.waitFor(() => expect(document.body.textContent).toContain("change Node n1"), 60_000);
    press("Write it");
    await vi.waitFor(() => expect(document.body.textContent).toContain("Written: change Node n1"), 60_000);
    const told = { kind: "uncordon", field: "", old: "", new: "", node: "n1", pods: [], more: [], of: "" };
    const path = "/api/clusters/1/workloads/Deployment/d/web/fits";
    expect(sent).toEqual([true, false].map((dry) => [path, { changes: [told], dry_run: dry }]));
  });

  it("tells of all pods of a workload", async () => {
    const text = show({ ...FITS, pods: ["d/a", "d/b"], places: [{ pod: "d/a", node: "n1" }] }, 200, true);
    await vi.waitFor(() => expect(text()).toContain("1 of 2 waiting pods fit"), 60_000);
    expect(text()).toContain("What would make all its pods fit");
  });

  it("says that nothing is needed, that nothing is known, and what went wrong", async () => {
    const fitting = show({ ...FITS, node: "n3" });
    await vi.waitFor(() => expect(fitting()).toContain("it fits as it is, on n3"), 60_000);
    if (shown) void unmount(shown);
    document.body.replaceChildren();
    queries.clear();
    asked = [];
    const nothing = show({ ...FITS, preemption: null, suggestions: [] });
    await vi.waitFor(() => expect(nothing()).toContain("Neither one change nor two"), 60_000);
    if (shown) void unmount(shown);
    document.body.replaceChildren();
    queries.clear();
    asked = [];
    const refused = show({ code: "invalid", message: "the pod is on n1" }, 422);
    await vi.waitFor(() => expect(refused()).toContain("the pod is on n1"), 60_000);
  });
});
