import { mount, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { queries } from "../../data/queries";
import { FITS } from "../__fixtures__/fits";
import WhatFits from "./WhatFits.svelte";

vi.setConfig({ testTimeout: 90_000 });
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
});

function show(body: object, status = 200): () => string {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    asked.push(new URL(url).pathname);
    return new Response(JSON.stringify(body), { status });
  });
  shown = mount(WhatFits, { target: document.body, props: { clusterId: 1, key: "default/web", tries: 1 } });
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
    expect(text()).toContain("these go: d/x");
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
