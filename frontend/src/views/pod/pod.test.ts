import { flushSync, tick } from "svelte";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Attempt, HistoryEntry } from "../../contract/api.gen";
import { liveState } from "../../live/__fixtures__/state";
import { router } from "../../state/route.svelte";
import { ENTRY, REPEATED } from "../__fixtures__/attempts";
import { close, hrefs, said, show } from "../__fixtures__/shown";
import { decisionHref } from "../decision/view";
import PodPanel from "./PodPanel.svelte";
import { podHref, podView } from "./view";

vi.setConfig({ testTimeout: 90_000 });
const KEY = "default/web";
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
  ...ENTRY,
  seq: seq + number,
  attempts: number,
  attempt_seq: seq,
});

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

async function open(href: string): Promise<void> {
  close();
  router.open(href);
  await vi.waitFor(() => expect(router.hash).toBe(href));
  const attempt = podView.match(href)?.attempt ?? null;
  show(PodPanel, { live: liveState(), key: KEY, attempt });
  const settled = () => /the last|no attempt/.test(read()) && document.querySelectorAll("section ol").length > 1;
  await vi.waitFor(() => expect(settled()).toBe(true), 60_000);
  await tick();
  flushSync();
}

/** Which attempt the panel shows. */
function read(): string {
  const card = document.querySelector("section.attempt");
  if (card) return `the last of #${card.querySelector("a[title='Link to this attempt']")?.textContent?.slice(1)}`;
  return said().includes("No attempt with that number") ? "no attempt" : "";
}

const links = (label: string, which = "a:not([aria-label])") => hrefs(`section[aria-label="${label}"] ol ${which}`);

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
    await open(podHref(1, KEY, number) + more);
    expect(read()).toBe(want);
  });

  it("stands in lists, and leads to what it is of", async () => {
    const at = `#/clusters/1/pods/${KEY}/attempts`;
    await open(podHref(1, KEY));
    expect(read()).toBe("the last of #30");
    expect(links("All attempts")).toEqual([`${at}/30`, `${at}/8`]);
    expect(links("Queue history")).toEqual([`${at}/9`, `${at}/5`, `${at}/1`]);
    const pages = (label: string) => links(label, "a[aria-label^='Open attempt']");
    expect(pages("All attempts")).toEqual([decisionHref(1, 90), decisionHref(1, 70)]);
    expect(pages("Queue history")).toEqual([decisionHref(1, 90), decisionHref(1, 70), decisionHref(1, 70)]);
    expect(document.querySelector("section.attempt a.page")?.getAttribute("href")).toBe(decisionHref(1, 90));
    await open(`${podHref(1, KEY, 4)}?seq=50`);
    expect(document.querySelector("a[title='Link to this attempt']")?.getAttribute("href")).toBe(`${at}/4?seq=50`);
  });
});
