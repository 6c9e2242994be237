import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { flushSync } from "svelte";
import { afterEach, expect, it, vi } from "vitest";
import { type Call, fakeContext } from "../../charts/__fixtures__/context";
import { livePod, liveState } from "../../live/__fixtures__/state";
import { store } from "../../state/store.svelte";
import { WAIT_MS } from "../__fixtures__/cards";
import { NODE } from "../__fixtures__/node";
import { show } from "../__fixtures__/shown";
import Nodes from "./Nodes.svelte";

let live = $state.raw(liveState());

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  store.moment = null;
});

function open(): void {
  show(Nodes, {
    get live() {
      return live;
    },
  });
}

const state = (...pods: readonly string[]) =>
  liveState({ nodes: [NODE], pods: pods.map((name) => livePod(name, { node: NODE.name, phase: "Running" })) });

/** How many rings are painted when a second pod is on the node. */
function rings(): number {
  vi.useFakeTimers();
  const drawn: Call[] = [];
  const { prototype } = HTMLCanvasElement;
  vi.spyOn(prototype, "getContext").mockReturnValue(fakeContext(drawn));
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(600);
  live = state("a");
  open();
  live = state("a", "b");
  flushSync();
  vi.advanceTimersToNextFrame();
  return drawn.filter(([name]) => name === "stroke").length;
}

it("rings a node to which a pod comes", () => {
  expect(rings()).toBe(1);
});

it("rings none after a step to another moment of the past", () => {
  store.moment = { wanted: "9.9", position: "9.9", asked: "9.9", time: 0 };
  expect(rings()).toBe(0);
});

it("forgets nodes that are gone", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const gone = (() => {
    live = liveState({ nodes: [{ ...NODE }] });
    open();
    return new WeakRef(live.nodes.get(NODE.name) ?? NODE);
  })();
  live = liveState();
  flushSync();
  await vi.waitFor(() => {
    collect();
    expect(gone.deref() === undefined).toBe(true); // an expectation of the node itself would hold it
  }, WAIT_MS);
});
