import { mount, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { queries } from "../../data/queries";
import { router } from "../../state/route.svelte";
import { STORED, WHY } from "../__fixtures__/pendingWhy";
import { podHref } from "./view";
import WhyPending from "./WhyPending.svelte";

vi.setConfig({ testTimeout: 90_000 });
const KEY = "default/web";
let shown: ReturnType<typeof mount> | null = null;
let asked: string[] = [];

beforeEach(async () => {
  queries.clear();
  asked = [];
  router.open(podHref(1, KEY));
  await vi.waitFor(() => expect(router.hash).toBe(podHref(1, KEY)));
});

afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

function show(status = 200): () => string {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const { pathname, search } = new URL(url);
    expect(pathname).toBe("/api/clusters/1/pods/default/web/why");
    asked.push(search);
    if (search.includes("again=false")) return new Response(JSON.stringify(STORED));
    if (status === 200) return new Response(JSON.stringify(WHY));
    return new Response(JSON.stringify({ code: "gone", message: "history begins at 5.9" }), { status });
  });
  shown = mount(WhyPending, { target: document.body, props: { clusterId: 1, key: KEY, seq: 9, tries: 1 } });
  return () => document.body.textContent?.replaceAll(/\s+/g, " ") ?? "";
}

const ask = () => [...document.querySelectorAll("button")].find((one) => one.textContent?.includes("which change"));

describe("the card that says why a pod is pending", () => {
  it("says what is stored, and which change it was when that is asked", async () => {
    const text = show();
    await vi.waitFor(() => expect(text()).toContain("2 attempts in a row"), 60_000);
    expect(asked).toEqual(["?again=false"]);
    ask()?.click();
    await vi.waitFor(() => expect(text()).toContain("Made unschedulable by entry 12"), 60_000);
    expect(text()).toContain("alone 2");
    expect(router.hash).toContain("why=");
    expect(ask()).toBeUndefined();
    const hrefs = [...document.querySelectorAll("a")].map((one) => one.getAttribute("href") ?? "");
    expect(hrefs.some((href) => href.includes("plugin=NodeUnschedulable"))).toBe(true);
    expect(hrefs.some((href) => href.includes("changes"))).toBe(true);
  });

  it("keeps what is stored where the moment has been cleared away", async () => {
    const text = show(410);
    await vi.waitFor(() => expect(text()).toContain("in a row"), 60_000);
    ask()?.click();
    await vi.waitFor(() => expect(text()).toContain("history begins at 5.9"), 60_000);
    expect(text()).toContain("in a row");
  });
});
