import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Paced, paced } from "./paced.svelte";

const EVERY_MS = 1_000;
let value = $state(0);
let shown: Paced<number>;
let end = () => {};

beforeEach(() => {
  vi.useFakeTimers();
  value = 0;
  end = $effect.root(() => {
    shown = paced(() => value, EVERY_MS);
  });
  flushSync();
});

afterEach(() => {
  end();
  vi.useRealTimers();
});

function change(to: number): void {
  value = to;
  flushSync();
}

it("shows the first change at once, and the last of many when the time is over", () => {
  expect(shown.current).toBe(0);
  change(1);
  expect(shown.current).toBe(1);
  change(2);
  vi.advanceTimersByTime(EVERY_MS / 2);
  change(3);
  expect(shown.current).toBe(1);
  vi.advanceTimersByTime(EVERY_MS / 2);
  expect(shown.current).toBe(3);
});

it("shows a change after a pause at once", () => {
  change(1);
  vi.advanceTimersByTime(EVERY_MS);
  change(2);
  expect(shown.current).toBe(2);
});

it("shows nothing any more once its component has gone", () => {
  change(1);
  change(2);
  end();
  vi.advanceTimersByTime(EVERY_MS);
  expect(shown.current).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});
