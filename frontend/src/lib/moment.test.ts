import { describe, expect, it } from "vitest";
import { HOUR_MS, momentIn, moveOf, shareOf, windowAround } from "./moment";

const NOW = new Date(2026, 10, 25, 22, 55, 30).getTime();
const local = (...parts: [number, number, number, number, number, number?]) =>
  new Date(...parts).toISOString().replace(".000Z", "Z");

describe("a moment as it is written", () => {
  it.each([
    ["a position", " 1200.48000 ", "1200.48000"],
    ["how long ago", "10m ago", "10m ago"],
    ["a time with its zone", "2026-11-25T22:55:00Z", "2026-11-25T22:55:00Z"],
    ["a day and time here", "2026-11-25 22:55", local(2026, 10, 25, 22, 55)],
    ["a day and time to the second", "2026-11-25T22:55:07", local(2026, 10, 25, 22, 55, 7)],
    ["a day", "2026-11-24", local(2026, 10, 24, 0, 0)],
    ["a time of today", "21:03", local(2026, 10, 25, 21, 3)],
    ["a time that was yesterday", "23:10:05", local(2026, 10, 24, 23, 10, 5)],
    ["nothing of these", "yesterday", "yesterday"],
    ["nothing", "  ", ""],
  ])("is %s", (_what, written, want) => expect(momentIn(written, NOW)).toBe(want));
});

describe("the window of the line", () => {
  const all = { since: 0, until: 1000 };
  it.each([
    ["is all there is where that is shorter", 500, 5000, null, all],
    ["is around the moment", 500, 200, null, { since: 400, until: 600 }],
    ["begins with history", 30, 200, null, { since: 0, until: 200 }],
    ["ends now", 990, 200, null, { since: 800, until: 1000 }],
    ["stays while the moment is in it", 590, 200, { since: 400, until: 600 }, { since: 400, until: 600 }],
    ["moves where the moment has left it", 610, 200, { since: 400, until: 600 }, { since: 510, until: 710 }],
    ["is made anew with another length", 590, 100, { since: 400, until: 600 }, { since: 540, until: 640 }],
  ])("%s", (_what, at, length, before, want) => expect(windowAround(at, length, all, before)).toEqual(want));

  it("has each time at its share", () => {
    expect([-5, 0, 250, 1000, 2000].map((at) => shareOf(at, all))).toEqual([0, 0, 0.25, 1, 1]);
  });
});

describe("keys on the line", () => {
  const held = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  it.each([
    ["ArrowLeft", {}, "before"],
    ["ArrowRight", {}, "after"],
    ["ArrowLeft", { shiftKey: true }, -60_000],
    ["ArrowRight", { ctrlKey: true }, HOUR_MS],
    ["PageDown", {}, -HOUR_MS],
    ["PageUp", {}, HOUR_MS],
    ["Home", {}, "first"],
    ["End", {}, "now"],
    ["ArrowLeft", { altKey: true }, null],
    ["a", {}, null],
  ] as const)("%s %o", (key, more, want) => expect(moveOf({ ...held, ...more, key })).toBe(want));
});
