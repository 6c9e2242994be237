import { flushSync, mount, tick, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Attempt, HistoryEntry } from "../../contract/api.gen";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { fromSnapshot } from "../../live/state";
import { router } from "../../state/route.svelte";
import { ATTEMPT, REPEATED } from "../__fixtures__/attempts";
import { decisionHref } from "../decision/view";
import PodPanel from "./PodPanel.svelte";
import { podHref, podView } from "./view";

vi.setConfig({ testTimeout: 90_000 });
const KEY = "default/web";
const LIVE = fromSnapshot({
  cursor: [1, 1],
  cluster: CLUSTER,
  nodes: [],
  pods: [],
  queue: [],
  events: [],
  attempts: [],
  throughput: { seconds: 1, since_ms: 0, until_ms: 0, carried: null, points: [] },
  pods_left_out: 0,
});
const made = (seq: number, attempt: number, last_attempt: number, more: Partial<Attempt> = {}): Attempt => ({
  ...REPEATED,
  seq,
  attempt,
  last_attempt,
  repeat_count: last_attempt - attempt,
  ...more,
});
const NEWEST = made(90, 9, 30);
const FIRST = made(70, 1, 8);
const OLDER = made(60, 0, 0); // on a page that is not loaded
const EARLIER = made(50, 1, 4, { pod_uid: "u0" }); // at an earlier pod of this name
const entry = (seq: number, number: number): HistoryEntry => ({
  kind: "attempt",
  what: "unschedulable",
  at: ATTEMPT.started_at,
  seq: seq + number,
  rv: 1,
  event: "",
  hint: "",
  plugins: [],
  attempts: number,
  until: null,
  early: false,
  node: "",
  message: "",
  attempt_seq: seq,
});
let shown: ReturnType<typeof mount> | null = null;

beforeEach(() => {
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const { pathname, searchParams } = new URL(url);
    const number = searchParams.get("attempt");
    const listed = number === null ? [NEWEST, FIRST] : [OLDER].filter((one) => String(one.attempt) === number);
    const answers: Record<string, unknown> = {
      [`pods/${KEY}/attempts`]: { results: listed, next: null },
      [`pods/${KEY}/history`]: { pod_uid: "u1", entries: [entry(70, 1), entry(70, 5), entry(90, 9)] },
      [`attempts/${EARLIER.seq}`]: EARLIER,
      "object-events": { events: [] },
    };
    const answer = answers[pathname.replace("/api/clusters/1/", "")];
    const problem = { code: "not_found", message: "no" };
    return new Response(JSON.stringify(answer ?? problem), { status: answer ? 200 : 404 });
  });
});

afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

async function show(href: string): Promise<void> {
  if (shown) void unmount(shown);
  document.body.replaceChildren();
  router.open(href);
  await vi.waitFor(() => expect(router.hash).toBe(href));
  const attempt = podView.match(href)?.attempt ?? null;
  shown = mount(PodPanel, { target: document.body, props: { live: LIVE, key: KEY, attempt } });
  const settled = () => /the last|no attempt/.test(read()) && document.querySelectorAll("section ol").length > 1;
  await vi.waitFor(() => expect(settled()).toBe(true), 60_000);
  await tick();
  flushSync();
}

/** Which attempt the panel shows. */
function read(): string {
  const card = document.querySelector("section.attempt");
  if (card) return `the last of #${card.querySelector("a[title='Link to this attempt']")?.textContent?.slice(1)}`;
  return document.body.textContent?.includes("No attempt with that number") ? "no attempt" : "";
}

const links = (label: string, which = "a:not([aria-label])"): (string | null)[] =>
  [...document.querySelectorAll(`section[aria-label="${label}"] ol ${which}`)].map((link) => link.getAttribute("href"));

describe("the address of an attempt", () => {
  it.each([
    ["the last of equal ones", 30, "", "the last of #30"],
    ["the first of them", 9, "", "the last of #30"],
    ["one between", 5, "", "the last of #8"],
    ["one on a page that is not loaded", 0, "", "the last of #0"],
    ["one that was never made", 31, "", "no attempt"],
    ["one at an earlier pod of this name", 4, "?seq=50", "the last of #4"],
    ["the number of another one than the entry's", 30, "?seq=50", "no attempt"],
    ["an entry that is not stored", 30, "?seq=51", "no attempt"],
  ])("has the number on the screen: %s", async (_which, number, more, want) => {
    await show(podHref(1, KEY, number) + more);
    expect(read()).toBe(want);
  });

  it("stands in lists, and leads to what it is of", async () => {
    const at = `#/clusters/1/pods/${KEY}/attempts`;
    await show(podHref(1, KEY));
    expect(read()).toBe("the last of #30");
    expect(links("All attempts")).toEqual([`${at}/30`, `${at}/8`]);
    expect(links("Queue history")).toEqual([`${at}/9`, `${at}/5`, `${at}/1`]);
    const pages = (label: string) => links(label, "a[aria-label^='Open attempt']");
    expect(pages("All attempts")).toEqual([decisionHref(1, 90), decisionHref(1, 70)]);
    expect(pages("Queue history")).toEqual([decisionHref(1, 90), decisionHref(1, 70), decisionHref(1, 70)]);
    expect(document.querySelector("section.attempt a.page")?.getAttribute("href")).toBe(decisionHref(1, 90));
    await show(`${podHref(1, KEY, 4)}?seq=50`);
    expect(document.querySelector("a[title='Link to this attempt']")?.getAttribute("href")).toBe(`${at}/4?seq=50`);
  });
});
