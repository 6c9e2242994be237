import { mount, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AttemptDetail, NodeWhy } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { fromSnapshot } from "../../live/state";
import { router } from "../../state/route.svelte";
import { ATTEMPT } from "../__fixtures__/attempts";
import { WHY } from "../__fixtures__/why";
import { decisionHref, whyHref } from "./view";
import Why from "./Why.svelte";

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
const PLACED: AttemptDetail = {
  ...ATTEMPT,
  result: "scheduled",
  node_name: "n1",
  seed: 1,
  digest: "d",
  matrix: null,
};
const STORED: NodeWhy = { ...WHY, made_again: false, turn: null };
let shown: ReturnType<typeof mount> | null = null;
let asked: string[] = [];
let followed: boolean[] = [];

beforeEach(async () => {
  queries.clear();
  asked = [];
  followed = [];
  router.open(decisionHref(1, PLACED.seq));
  await vi.waitFor(() => expect(router.hash).toBe(decisionHref(1, PLACED.seq)));
});

afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

/** `made`: what comes of making the attempt again, a refusal where it is a status. */
function show(made: NodeWhy | number = WHY, isMirror = false): () => string {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const { pathname, search } = new URL(url);
    expect(pathname).toBe("/api/clusters/1/attempts/9/why");
    asked.push(search);
    if (search.includes("again=false")) return new Response(JSON.stringify(STORED));
    if (typeof made !== "number") return new Response(JSON.stringify(made));
    return new Response(JSON.stringify({ code: "gone", message: "history begins at 5.9" }), { status: made });
  });
  const live = fromSnapshot({ ...SNAPSHOT, cluster: { ...CLUSTER, is_mirror: isMirror } });
  const props = { attempt: PLACED, live, onrow: (isInMatrix: boolean) => followed.push(isInMatrix) };
  shown = mount(Why, { target: document.body, props });
  return () => document.body.textContent?.replaceAll(/\s+/g, " ") ?? "";
}

const ask = () => [...document.querySelectorAll("button")].find((one) => one.textContent?.includes("turned"));

describe("the card that says why a node was chosen", () => {
  it("says what is stored, and what weight would have turned it when that is asked", async () => {
    const text = show();
    await vi.waitFor(() => expect(text()).toContain("n1 has 345, n2 305: 40 more."), 60_000);
    expect(asked).toEqual(["?again=false"]);
    expect(text()).not.toContain("weight 24");
    ask()?.click();
    await vi.waitFor(() => expect(text()).toContain("With ImageLocality at weight 24 instead of 3"), 60_000);
    expect(router.hash).toBe(whyHref(1, 9));
    expect(asked).toEqual(["?again=false", "?again=true"]);
    expect(ask()).toBeUndefined();
  });

  it("asks about the node that is named, which stands in the address", async () => {
    const text = show();
    await vi.waitFor(() => expect(text()).toContain("40 more"), 60_000);
    const field = document.querySelector<HTMLInputElement>("input[name=not]");
    if (!field) throw new Error("no field");
    expect(field.value).toBe("n2");
    field.value = " n7 ";
    field.form?.requestSubmit();
    await vi.waitFor(() => expect(asked).toContain("?not=n7&again=false"), 60_000);
    expect(router.hash).toContain("not=n7");
  });

  it("links numbers to the rows they are from", async () => {
    const text = show();
    await vi.waitFor(() => expect(text()).toContain("40 more"), 60_000);
    const part = [...document.querySelectorAll("a")].find((one) => one.textContent === "+46");
    expect(part?.getAttribute("href")).toContain("node=n2&order=score%3ANodeResourcesFit");
    part?.click();
    expect(followed).toEqual([true]);
  });

  it("keeps what is stored where the moment has been cleared away", async () => {
    const text = show(410);
    await vi.waitFor(() => expect(text()).toContain("40 more"), 60_000);
    ask()?.click();
    await vi.waitFor(() => expect(text()).toContain("history begins at 5.9"), 60_000);
    expect(text()).toContain("40 more");
  });

  it("offers nothing more in a mirror", async () => {
    const text = show(WHY, true);
    await vi.waitFor(() => expect(text()).toContain("40 more"), 60_000);
    expect(ask()).toBeUndefined();
  });
});
