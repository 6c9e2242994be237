import { beforeEach, describe, expect, it, vi } from "vitest";
import { PodAttempts } from "./attempts.svelte";

type Row = { seq: number };
let stored: number[] = [];
let refused = false;
const PAGE = 3;

/** Pages of PAGE rows, newest first, as the service answers them. */
function answer(url: string): Response {
  if (refused) return new Response(JSON.stringify({ code: "boom", message: "no" }), { status: 500 });
  const before = Number(new URL(url, "http://a").searchParams.get("cursor") ?? Number.MAX_SAFE_INTEGER);
  const rows: Row[] = stored
    .filter((seq) => seq < before)
    .sort((a, b) => b - a)
    .map((seq) => ({ seq }));
  const last = rows.slice(0, PAGE).at(-1)?.seq;
  const next = rows.length > PAGE ? `http://elsewhere/api/clusters/1/pods/a/b/attempts?cursor=${last}` : null;
  return new Response(JSON.stringify({ results: rows.slice(0, PAGE), next }));
}

beforeEach(() => {
  refused = false;
  vi.stubGlobal("fetch", ({ url }: Request) => Promise.resolve(answer(url)));
});

async function made(seqs: number[]): Promise<PodAttempts> {
  stored = seqs;
  const attempts = new PodAttempts(1, "a/b");
  attempts.refresh();
  await vi.waitFor(() => expect(attempts.found).not.toBeNull());
  return attempts;
}

const seqs = (attempts: PodAttempts) => attempts.found?.map((attempt) => attempt.seq);

async function refreshed(attempts: PodAttempts, first: number): Promise<void> {
  attempts.refresh();
  await vi.waitFor(() => expect(seqs(attempts)?.[0]).toBe(first));
}

describe("PodAttempts", () => {
  it("has one page at first, and says whether there are older ones", async () => {
    const attempts = await made([1, 2, 3, 4, 5]);
    expect([seqs(attempts), attempts.hasOlder]).toEqual([[5, 4, 3], true]);
    await attempts.loadOlder();
    expect([seqs(attempts), attempts.hasOlder]).toEqual([[5, 4, 3, 2, 1], false]);
  });

  it("keeps the older pages when new attempts come", async () => {
    const attempts = await made([1, 2, 3, 4, 5]);
    await attempts.loadOlder();
    stored.push(6);
    await refreshed(attempts, 6);
    expect([seqs(attempts), attempts.hasOlder]).toEqual([[6, 5, 4, 3, 2, 1], false]);
  });

  it("leaves no gap when more came than a page holds", async () => {
    const attempts = await made([1, 2, 3, 4, 5]);
    await attempts.loadOlder();
    stored.push(6, 7, 8, 9, 10);
    await refreshed(attempts, 10);
    expect([seqs(attempts), attempts.hasOlder]).toEqual([[10, 9, 8], true]);
    for (let turn = 0; turn < 3; turn += 1) await attempts.loadOlder();
    expect(seqs(attempts)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  it("keeps what it has when the service refuses, and says so", async () => {
    const attempts = await made([1, 2, 3, 4]);
    refused = true;
    await attempts.loadOlder();
    expect([seqs(attempts), attempts.problem?.message]).toEqual([[4, 3, 2], "no"]);
    refused = false;
    await attempts.loadOlder();
    expect([seqs(attempts), attempts.problem]).toEqual([[4, 3, 2, 1], null]);
  });
});
