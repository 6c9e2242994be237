/** A moment in the past in the store: what is shown, what is asked, and what is not. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { api } from "../api/client";
import type { Snapshot } from "../contract/api.gen";
import contract from "../live/__fixtures__/contract.json";
import { clock } from "./clock.svelte";
import { store } from "./store.svelte";

const [EARLY, LATE] = [0, contract.snapshots.length - 1].map((at) => contract.snapshots[at] as unknown as Snapshot);
const THEN = (EARLY as Snapshot).cursor.join(".");
let asked: string[] = [];
let refusal: { status: number; code: string; extra?: object } | null = null;
let held: (() => void)[] | null = null;
let sockets: FakeSocket[] = [];

class FakeSocket extends EventTarget {
  isClosed = false;
  constructor(readonly url: URL) {
    super();
    sockets.push(this);
  }
  close(): void {
    this.isClosed = true;
  }
  hello(): void {
    const data = JSON.stringify({ type: "hello", cursor: (LATE as Snapshot).cursor });
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
}

function columnsOf(rows: readonly object[]): object {
  const names = Object.keys(rows[0] ?? {});
  const valueIn = (row: object, name: string) => (row as Record<string, unknown>)[name];
  return Object.fromEntries(
    names.map((name) => [name, { values: rows.map((row) => valueIn(row, name) ?? null), rows: null }]),
  );
}

function inColumns(snapshot: Snapshot): object {
  const { nodes, pods, queue, events, attempts } = snapshot;
  const lists = { nodes, pods, queue, events, attempts };
  return {
    ...snapshot,
    ...Object.fromEntries(Object.entries(lists).map(([name, rows]) => [name, columnsOf(rows)])),
  };
}

beforeEach(() => {
  [asked, refusal, held, sockets] = [[], null, null, []];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", async (request: Request) => {
    const address = new URL(request.url);
    asked.push(`${request.method} ${address.pathname}${address.search}`);
    if (!address.pathname.includes("/snapshot")) return new Response("{}");
    const at = address.searchParams.get("at");
    if (held && at) await new Promise<void>((resolve) => held?.push(resolve));
    if (refusal && at) return new Response(JSON.stringify({ message: "no", ...refusal }), { status: refusal.status });
    return new Response(JSON.stringify(inColumns((at ? EARLY : LATE) as Snapshot)));
  });
});

afterEach(() => store.watch(null));

async function live(): Promise<FakeSocket> {
  store.watch(1);
  const socket = sockets.at(-1) as FakeSocket;
  socket.hello();
  await vi.waitFor(() => expect(store.state?.cursor).toEqual(LATE?.cursor));
  return socket;
}

async function past(at = THEN): Promise<void> {
  store.watch(1, at);
  await vi.waitFor(() => expect(store.moment?.position).toBe(THEN));
}

const snapshots = () => asked.filter((one) => one.includes("/snapshot"));

describe("a moment in the past", () => {
  it("is shown instead of the present, with its time standing, and nothing may be done", async () => {
    const socket = await live();
    store.me = {
      username: "u",
      is_superuser: true,
      may_create_clusters: true,
      token: null,
      roles: {},
      certificate: "",
    };
    expect([store.may("operator"), store.mayCreate]).toEqual([true, true]);
    store.watch(1, "10m ago");
    expect([store.going, store.moment, socket.isClosed]).toEqual(["10m ago", null, false]);
    await past("10m ago");
    expect(store.state?.cursor).toEqual(EARLY?.cursor);
    expect(store.moment).toMatchObject({ wanted: "10m ago", asked: THEN, time: EARLY?.throughput.until_ms });
    expect([socket.isClosed, store.going, clock.now]).toEqual([true, null, EARLY?.throughput.until_ms]);
    expect([store.may("operator"), store.mayCreate]).toEqual([false, false]);
  });

  it("is not read again when the address says its position", async () => {
    await past("10m ago");
    const count = snapshots().length;
    store.watch(1, THEN);
    expect([snapshots().length, store.going, store.moment?.position]).toEqual([count, null, THEN]);
  });

  it("is left for the present once that is there", async () => {
    await past();
    store.watch(1, "");
    expect([store.going, store.moment?.position]).toEqual(["", THEN]);
    sockets.at(-1)?.hello();
    await vi.waitFor(() => expect(store.moment).toBeNull());
    expect([store.state?.cursor, store.going]).toEqual([LATE?.cursor, null]);
    expect(snapshots().at(-1)).not.toContain("at=");
  });

  it("leaves what is shown where it cannot be had, and says why", async () => {
    const socket = await live();
    refusal = { status: 410, code: "gone", extra: { rv: 7, seq: 9 } };
    store.watch(1, "1.1");
    await vi.waitFor(() => expect(store.momentProblem?.extra).toEqual({ rv: 7, seq: 9 }));
    expect([store.moment, store.going, socket.isClosed]).toEqual([null, null, false]);
    expect(store.state?.cursor).toEqual(LATE?.cursor);
    store.watch(1, "");
    expect([store.momentProblem, sockets.length]).toEqual([null, 1]);
  });

  it("that was asked for before another is not shown", async () => {
    await live();
    held = [];
    store.watch(1, "1.1");
    await vi.waitFor(() => expect(held).toHaveLength(1));
    store.watch(1, "");
    for (const go of held) go();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([store.moment, store.state?.cursor]).toEqual([null, LATE?.cursor]);
  });

  it("is what questions are of, and others are not asked", async () => {
    await past();
    await api.pending(1);
    expect(asked.at(-1)).toBe(`GET /api/clusters/1/pending?at=${THEN}`);
    await api.attempt(1, 3, { limit: 1 });
    expect(asked.at(-1)).toBe("GET /api/clusters/1/attempts/3?limit=1&now=false");
    const count = asked.length;
    await expect(api.workloads(1)).rejects.toMatchObject({ code: "not_then" });
    await expect(api.pace(1, { pace: "pause" })).rejects.toMatchObject({ code: "not_then" });
    expect(asked.length).toBe(count);
    await live();
    await api.workloads(1);
    expect(asked.at(-1)).toBe("GET /api/clusters/1/workloads");
  });

  it("stands, once it is played, for itself and no longer for the words it was asked for in", async () => {
    await past("10m ago");
    if (!store.state) throw new Error("nothing is shown");
    store.played({ ...store.state, cursor: [40, 50] }, 7, false);
    expect(store.moment).toEqual({ wanted: "40.50", position: "40.50", asked: THEN, time: 7 });
  });

  it("is left with its cluster", async () => {
    await past();
    store.watch(2);
    expect([store.moment, store.state]).toEqual([null, null]);
  });
});
