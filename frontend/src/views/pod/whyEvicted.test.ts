import { mount, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { queries } from "../../data/queries";
import { router } from "../../state/route.svelte";
import { EVICTED, RECORDED } from "../__fixtures__/evictedWhy";
import { podHref } from "./view";
import WhyEvicted from "./WhyEvicted.svelte";

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

const no = (code: string, message: string, status: number) =>
  new Response(JSON.stringify({ code, message }), { status });

function show(status = 200): () => string {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const { pathname, search } = new URL(url);
    expect(pathname).toBe("/api/clusters/1/pods/default/web/evicted");
    asked.push(search);
    if (status === 404) return no("not_found", "no pod of this name", 404);
    if (search.includes("again=false")) return new Response(JSON.stringify(RECORDED));
    return status === 200 ? new Response(JSON.stringify(EVICTED)) : no("gone", "history begins at 5.9", status);
  });
  shown = mount(WhyEvicted, { target: document.body, props: { clusterId: 1, key: KEY, uid: "" } });
  return () => document.body.textContent?.replaceAll(/\s+/g, " ") ?? "";
}

const ask = () => document.querySelector("button");

describe("the card that says why a pod was evicted", () => {
  it("says what is stored, and what each node would have cost when that is asked", async () => {
    const text = show();
    await vi.waitFor(() => expect(text()).toContain("It makes room for default/high"), 60_000);
    expect(asked).toEqual(["?again=false"]);
    ask()?.click();
    await vi.waitFor(() => expect(text()).toContain("highest priority 5 instead of"), 60_000);
    expect(text()).toContain("default/kept, priority 1: spared");
    expect(ask()).toBeNull();
    const hrefs = [...document.querySelectorAll("a")].map((one) => one.getAttribute("href") ?? "");
    expect(hrefs.some((href) => href.includes("attempts/9"))).toBe(true);
    expect(hrefs.some((href) => href.includes("changes"))).toBe(true);
  });

  it("keeps what is stored where the moment has been cleared away", async () => {
    const text = show(410);
    await vi.waitFor(() => expect(ask()).not.toBeNull(), 60_000);
    ask()?.click();
    await vi.waitFor(() => expect(text()).toContain("history begins at 5.9"), 60_000);
    expect(text()).toContain("It makes room for");
  });

  it("says nothing of a pod that nobody evicted", async () => {
    const text = show(404);
    await vi.waitFor(() => expect(asked).toHaveLength(1), 60_000);
    expect(text()).toBe("");
  });
});
