import { describe, expect, it } from "vitest";
import { fitted, partsOfName, sharedStart } from "./names";

describe("partsOfName", () => {
  it.each([
    ["openb-pod-1639", "openb", "-pod-1639"],
    ["web-7d9f8b6c5d-x2x4q", "web-7d9f8b6c5d", "-x2x4q"],
    ["abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst", "uvwxyz"],
    ["europe-west1-b", "europe", "-west1-b"],
    ["n1", "", "n1"],
    ["", "", ""],
  ])("keeps what distinguishes %s", (name, start, end) => expect(partsOfName(name)).toEqual({ start, end }));
});

describe("sharedStart", () => {
  it.each([
    [["europe-west1-b", "europe-west1-c", "europe-west4-a"], "europe-"],
    [["europe-west1-b", "europe-west1-c"], "europe-west1-"],
    [["rack1", "rack2"], ""],
    [["a", ""], ""],
    [["alone-1"], ""],
    [[], ""],
  ])("of %j is %j", (names, want) => expect((names[0] ?? "").slice(0, sharedStart(names))).toBe(want));
});

describe("fitted", () => {
  const of = (most: number) => (text: string) => text.length <= most;
  it.each([
    [20, "europe-west1-b · 30"],
    [16, "…west1-b · 30"],
    [8, "…-b · 30"],
    [1, "…0"],
  ])("in room for %d letters", (most, want) => expect(fitted("europe-west1-b · 30", 7, of(most))).toBe(want));
});
