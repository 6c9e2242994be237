import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventView } from "../../contract/api.gen";
import { liveState } from "../../live/__fixtures__/state";
import { router } from "../../state/route.svelte";
import { store } from "../../state/store.svelte";
import { found, show } from "../__fixtures__/shown";
import Events from "./Events.svelte";

const PAUSE_MS = 1_000;

/** The first is a warning. */
function event(seq: number): EventView {
  return {
    seq,
    name: `e${seq}`,
    at_ms: seq,
    type: seq === 1 ? "Warning" : "Normal",
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
});

afterEach(() => {
  vi.useRealTimers();
  store.moment = null;
  location.hash = router.hash = "";
});

function open(newest: number): void {
  live = state(newest);
  show(Events, {
    get live() {
      return live;
    },
  });
}

/** How many events are listed, and how many of them are pointed out. */
const rows = () => [document.querySelectorAll("li").length, document.querySelectorAll("li.new").length];

function choose(choice: string): void {
  const select = found<HTMLSelectElement>("select");
  select.value = choice;
  select.dispatchEvent(new Event("change", { bubbles: true }));
  flushSync();
}

function come(newest: number): void {
  live = state(newest);
  flushSync();
}

it("points out a few new events, and keeps to it while others come", () => {
  open(50);
  expect(rows()).toEqual([50, 0]);
  come(52);
  expect(rows()).toEqual([52, 2]);
  vi.advanceTimersByTime(PAUSE_MS);
  come(53);
  expect(rows()).toEqual([53, 3]);
});

it("shows many that come one after the other once a second, and points out none of them", () => {
  open(50);
  come(51);
  for (let newest = 52; newest <= 70; newest += 1) come(newest);
  expect(rows()).toEqual([51, 1]);
  vi.advanceTimersByTime(PAUSE_MS);
  flushSync();
  expect(rows()).toEqual([70, 1]);
});

describe("events that are not new", () => {
  it("are those there at first, however few", () => {
    open(5);
    expect(rows()).toEqual([5, 0]);
    come(6);
    expect(rows()).toEqual([6, 1]);
  });

  it("are those that another choice shows", () => {
    open(5);
    choose("warnings");
    expect(rows()).toEqual([1, 0]);
    choose("all");
    expect(rows()).toEqual([5, 0]);
  });

  it("are those that came while another choice left them out", () => {
    open(5);
    choose("nodes");
    come(8);
    expect(rows()).toEqual([0, 0]);
    choose("all");
    expect(rows()).toEqual([8, 0]);
  });
});

it("shows those of a moment in the past at once, whatever was shown before, and points out none", () => {
  store.moment = { wanted: "9.9", position: "9.9", asked: "9.9", time: 0 };
  open(5);
  for (const newest of [8, 2, 7]) {
    come(newest);
    expect(rows()).toEqual([newest, 0]);
  }
});
