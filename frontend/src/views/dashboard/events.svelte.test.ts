import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { EventView } from "../../contract/api.gen";
import { liveState } from "../../live/__fixtures__/state";
import { show } from "../__fixtures__/shown";
import Events from "./Events.svelte";

const PAUSE_MS = 1_000;

function event(seq: number): EventView {
  return {
    seq,
    name: `e${seq}`,
    at_ms: seq,
    type: "Normal",
    reason: "Scheduled",
    kind: "Pod",
    key: `default/p${seq}`,
    note: "",
    count: 1,
  };
}

const state = (newest: number) => liveState({ events: Array.from({ length: newest }, (_, place) => event(place + 1)) });
let live = $state.raw(state(0));

beforeEach(() => {
  vi.useFakeTimers();
  live = state(50);
  show(Events, {
    get live() {
      return live;
    },
  });
});

afterEach(() => vi.useRealTimers());

/** How many events are listed, and how many of them are pointed out. */
const rows = () => [document.querySelectorAll("li").length, document.querySelectorAll("li.new").length];

function come(newest: number): void {
  live = state(newest);
  flushSync();
}

it("points out a few new events, and keeps to it while others come", () => {
  expect(rows()).toEqual([50, 0]);
  come(52);
  expect(rows()).toEqual([52, 2]);
  vi.advanceTimersByTime(PAUSE_MS);
  come(53);
  expect(rows()).toEqual([53, 3]);
});

it("shows many that come one after the other once a second, and points out none of them", () => {
  come(51);
  for (let newest = 52; newest <= 70; newest += 1) come(newest);
  expect(rows()).toEqual([51, 1]);
  vi.advanceTimersByTime(PAUSE_MS);
  flushSync();
  expect(rows()).toEqual([70, 1]);
});
