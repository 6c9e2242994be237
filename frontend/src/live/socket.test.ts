import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApiError } from "../api/client";
import type { Frame, Message, Snapshot } from "../contract/api.gen";
import { snapshot } from "./__fixtures__/state";
import { type Link, LiveSocket, SILENCE_MS } from "./socket";
import type { State } from "./state";

/** A WebSocket whose other end is the test. */
class FakeSocket extends EventTarget {
  closed = false;
  constructor(readonly url: string) {
    super();
  }
  says(message: Message): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) }));
  }
  drops(code = 1006): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
  close(): void {
    this.closed = true;
  }
}

const at = (rv: number, seq: number): Snapshot => snapshot({ cursor: [rv, seq] });
const frame = (from: Frame["from"], to: Frame["to"]): Frame => ({ type: "frame", from, to, at: 1, events: [] });

let sockets: FakeSocket[];
let links: Link[];
let states: State[];
let answers: (() => Promise<Snapshot>)[];
let live: LiveSocket;

beforeEach(() => {
  vi.useFakeTimers();
  [sockets, links, states, answers] = [[], [], [], []];
  live = new LiveSocket(1, {
    open: (url) => {
      const socket = new FakeSocket(url);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    snapshot: () => answers.shift()?.() ?? Promise.reject(new Error("no snapshot expected")),
    onState: (state) => states.push(state),
    onLink: (link) => links.push(link),
  });
});

afterEach(() => {
  live.stop();
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(0);

async function connected(): Promise<FakeSocket> {
  answers.push(() => Promise.resolve(at(5, 5)));
  live.start();
  sockets[0]?.says({ type: "hello", cursor: [5, 5] });
  await settle();
  return sockets[0] as FakeSocket;
}

it("fetches the snapshot after hello and applies the frames that came meanwhile", async () => {
  let arrive: (value: Snapshot) => void = () => undefined;
  answers.push(() => new Promise((resolve) => (arrive = resolve)));
  live.start();
  sockets[0]?.says({ type: "hello", cursor: [5, 5] });
  sockets[0]?.says(frame([5, 5], [6, 7]));
  sockets[0]?.says(frame([6, 7], [8, 7]));
  arrive(at(6, 6));
  await settle();
  expect(states.at(-1)?.cursor).toEqual([8, 7]);
  expect(links.at(-1)?.status).toBe("live");
});

it("comes back with its cursor and needs no snapshot when the service resumes there", async () => {
  const first = await connected();
  first.says(frame([5, 5], [6, 5]));
  first.drops();
  expect(links.at(-1)?.status).toBe("stale");
  await vi.advanceTimersByTimeAsync(400);
  expect(sockets[1]?.url).toBe("/ws/clusters/1/?rv=6&seq=5");
  sockets[1]?.says({ type: "hello", cursor: [6, 5] });
  sockets[1]?.says(frame([6, 5], [7, 5]));
  await settle();
  expect(states.at(-1)?.cursor).toEqual([7, 5]);
  expect(links.at(-1)?.status).toBe("live");
});

it("fetches the snapshot again when the service goes on from elsewhere", async () => {
  (await connected()).drops();
  await vi.advanceTimersByTimeAsync(400);
  answers.push(() => Promise.resolve(at(90, 90)));
  sockets[1]?.says({ type: "hello", cursor: [90, 90] });
  await settle();
  expect(states.at(-1)?.cursor).toEqual([90, 90]);
});

it("fetches the snapshot again on a gap", async () => {
  const socket = await connected();
  answers.push(() => Promise.resolve(at(9, 9)));
  socket.says(frame([7, 5], [8, 5]));
  await settle();
  expect(states.at(-1)?.cursor).toEqual([9, 9]);
});

it("gives up with the service's reason when the cluster is refused", async () => {
  (await connected()).drops();
  await vi.advanceTimersByTimeAsync(400);
  answers.push(() => Promise.reject(new ApiError("not_found", "no such cluster", {}, 404)));
  sockets[1]?.drops();
  await settle();
  expect(links.at(-1)).toMatchObject({ status: "failed", error: { code: "not_found" } });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sockets.length).toBe(2);
});

it("keeps trying, ever more slowly, while the service is away", async () => {
  (await connected()).drops();
  for (let round = 0; round < 6; round += 1) {
    await vi.advanceTimersByTimeAsync(10_000);
    answers.push(() => Promise.reject(new ApiError("unreachable", "away")));
    sockets.at(-1)?.drops();
    await settle();
  }
  expect(links.at(-1)?.status).toBe("stale");
  expect(sockets.length).toBe(7);
});

it("ignores what an old socket still says", async () => {
  const first = await connected();
  first.drops();
  await vi.advanceTimersByTimeAsync(400);
  first.says(frame([5, 5], [6, 6]));
  expect(states.at(-1)?.cursor).toEqual([5, 5]);
});

it("takes silence for a cut: says that it is not live, and comes back with its cursor", async () => {
  const first = await connected();
  await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
  expect(links.at(-1)?.status).toBe("live");
  await vi.advanceTimersByTimeAsync(1);
  expect(links.at(-1)?.status).toBe("stale");
  expect(first.closed).toBe(true);
  await vi.advanceTimersByTimeAsync(400);
  expect(sockets[1]?.url).toBe("/ws/clusters/1/?rv=5&seq=5");
  sockets[1]?.says({ type: "hello", cursor: [5, 5] });
  expect(links.at(-1)?.status).toBe("live");
});

it("stays live while the service says that nothing happens", async () => {
  const socket = await connected();
  for (let beat = 0; beat < 12; beat += 1) {
    await vi.advanceTimersByTimeAsync(5_000);
    socket.says({ type: "heartbeat" });
  }
  expect(links.at(-1)?.status).toBe("live");
  expect(sockets.length).toBe(1);
});

it("tries again when a socket never greets", async () => {
  live.start();
  await vi.advanceTimersByTimeAsync(SILENCE_MS + 400);
  expect(sockets.length).toBe(2);
  expect(links.at(-1)?.status).toBe("connecting");
});

it.each([4401, 4404])("asks at once why when the service closes with %i", async (code) => {
  const socket = await connected();
  answers.push(() => Promise.reject(new ApiError("not_found", "no such cluster", {}, 404)));
  socket.drops(code);
  await settle();
  expect(links.at(-1)).toMatchObject({ status: "failed", error: { code: "not_found" } });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sockets.length).toBe(1);
});
