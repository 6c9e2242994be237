import { mount, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { queries } from "../../data/queries";
import { router } from "../../state/route.svelte";
import { CHANGED } from "../__fixtures__/changed";
import Changed from "./Changed.svelte";
import { decisionHref } from "./view";

vi.setConfig({ testTimeout: 90_000 });
let shown: ReturnType<typeof mount> | null = null;
let asked: string[] = [];

beforeEach(async () => {
  queries.clear();
  asked = [];
  router.open(decisionHref(1, 9));
  await vi.waitFor(() => expect(router.hash).toBe(decisionHref(1, 9)));
});

afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

function show(answer: unknown, status = 200): () => string {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const { pathname, search } = new URL(url);
    asked.push(`${pathname}${search}`);
    return new Response(JSON.stringify(answer), { status });
  });
  shown = mount(Changed, { target: document.body, props: { clusterId: 1, seq: 9, since: 5 } });
  document.querySelector("button")?.click();
  return () => document.body.textContent?.replaceAll(/\s+/g, " ") ?? "";
}

describe("the part that says what changed since another attempt", () => {
  it("asks when that is wanted, and puts nodes below what turned them", async () => {
    const text = show(CHANGED);
    await vi.waitFor(() => expect(text()).toContain("2 of 7 nodes changed verdict"), 60_000);
    expect(asked).toEqual(["/api/clusters/1/attempts/9/changed?since=5"]);
    expect(router.hash).toContain("changed=");
    expect(text()).toMatch(/Entry 12.*n1: fits → .*only assumed.*n2: /);
    const hrefs = [...document.querySelectorAll("a")].map((one) => one.getAttribute("href") ?? "");
    expect(hrefs.some((href) => href.includes("changes"))).toBe(true);
  });

  it("says what came out otherwise, and nothing that rests on it", async () => {
    const apart = { run: 1, step: 1, seq: 9, pod: "d/p", field: "message", recorded: "a", replayed: "b" };
    const text = show({ ...CHANGED, difference: apart });
    await vi.waitFor(() => expect(text()).toContain("message"), 60_000);
    expect(text()).not.toContain("Entry 12");
  });

  it("says why it is refused", async () => {
    const text = show({ code: "gone", message: "history begins at 5.9" }, 410);
    await vi.waitFor(() => expect(text()).toContain("history begins at 5.9"), 60_000);
  });
});
