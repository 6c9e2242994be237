import { describe, expect, it } from "vitest";
import { moved, rangeOf } from "./lines";

describe("rangeOf", () => {
  it.each([
    [1, "kind: a"],
    [2, "b:"],
    [3, ""],
    [4, "last"],
    [9, "last"],
  ])("finds line %i", (line, want) => {
    const text = "kind: a\nb:\n\nlast";
    const { from, to } = rangeOf(text, line);
    expect(text.slice(from, to)).toBe(want);
  });
});

describe("moved", () => {
  const before = "a\nb\nc\nd";
  it.each([
    ["nothing was changed", before, [1, 2, 3, 4]],
    ["a line was put in", "a\nnew\nb\nc\nd", [1, 3, 4, 5]],
    ["a line was taken out", "a\nc\nd", [1, null, 2, 3]],
    ["a line was changed", "a\nb\nC\nd", [1, 2, null, 4]],
    ["all is different", "x", [null, null, null, null]],
    ["the first was repeated", "a\na\nb\nc\nd", [1, 3, 4, 5]],
  ])("tells where lines are when %s", (_, after, want) => {
    expect([1, 2, 3, 4].map(moved(before, after))).toEqual(want);
  });
});
