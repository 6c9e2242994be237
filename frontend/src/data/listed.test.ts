import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ListedRows } from "./listed.svelte";

const PAGE = 3;
let stored: string[] = [];
let refused = false;
let held: (() => void)[] | null = null; // answers that wait to be given

/** Pages of PAGE rows by name, as the service answers them; `total` stands on the first page. */
function answer(url: string): Response {
  const asked = new URL(url, "http://a").searchParams;
  const q = asked.get("q") ?? "";
  if (refused)
    return new Response(JSON.stringify({ code: "invalid_query", message: "no", extra: { at: 0, end: 1 } }), {
      status: 400,
    });
  const after = asked.get("cursor") ?? "";
  const matching = stored.filter((name) => name.includes(q)).sort();
  const rest = matching.filter((name) => name > after);
  const rows = rest.slice(0, PAGE);
  const next = rest.length > PAGE ? `http://elsewhere/api?cursor=${rows.at(-1)}` : null;
  return new Response(
    JSON.stringify({ results: rows.map((name) => ({ name })), total: after ? null : matching.length, next }),
  );
}

const names = (list: ListedRows) => list.rows.map((row) => row.name);
let asked = 0;
const settled = async (list: ListedRows) => vi.waitFor(() => expect(list.isAsking).toBe(false));
let stop = () => {};

beforeEach(() => {
  stored = ["a1", "a2", "b1", "b2", "c1"];
  refused = false;
  held = null;
  asked = 0;
  vi.stubGlobal("fetch", ({ url }: Request) => {
    asked += 1;
    if (!held) return Promise.resolve(answer(url));
    return new Promise<Response>((resolve) => held?.push(() => resolve(answer(url))));
  });
});
afterEach(() => stop());

describe("rows of a list", () => {
  it("come page by page, with the total of the first", async () => {
    const list = new ListedRows("pods");
    stop = list.follow(1, { q: "" });
    await settled(list);
    expect([names(list), list.total, list.hasMore]).toEqual([["a1", "a2", "b1"], 5, true]);
    await list.more();
    expect([names(list), list.total, list.hasMore]).toEqual([["a1", "a2", "b1", "b2", "c1"], 5, false]);
    await list.more();
    expect(names(list)).toHaveLength(5);
  });

  it("are those of the question asked last, whatever comes first", async () => {
    const list = new ListedRows("pods");
    held = [];
    list.follow(1, { q: "a" })();
    stop = list.follow(1, { q: "b" });
    await vi.waitFor(() => expect(held).toHaveLength(2));
    const [first, second] = held;
    second?.();
    await settled(list);
    first?.();
    await new Promise((resolve) => setTimeout(resolve));
    expect(names(list)).toEqual(["b1", "b2"]);
  });

  it("are asked for no further once that failed, until they are read anew", async () => {
    const list = new ListedRows("pods");
    stop = list.follow(1, { q: "" });
    await settled(list);
    refused = true;
    await list.more();
    await list.more();
    expect([asked, names(list).length, list.problem?.message]).toEqual([2, 3, "no"]);
    refused = false;
    await list.refresh();
    await list.more();
    expect(names(list)).toHaveLength(5);
  });

  it("stay while the next question is refused", async () => {
    const list = new ListedRows("pods");
    stop = list.follow(1, { q: "a" });
    await settled(list);
    stop();
    refused = true;
    stop = list.follow(1, { q: "a:" });
    await settled(list);
    expect([names(list), list.problem?.code, list.problem?.extra.end]).toEqual([["a1", "a2"], "invalid_query", 1]);
    refused = false;
    await list.refresh();
    expect(list.problem).toBeNull();
  });
});
