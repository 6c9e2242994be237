import { describe, expect, it } from "vitest";
import { CHANGED } from "../views/__fixtures__/changed";
import { written } from "../views/__fixtures__/written";
import { entryText, headText, turnedText } from "./changed";

const [ROW] = CHANGED.rows;
const [ENTRY] = CHANGED.entries;

describe("what changed between two attempts", () => {
  it("counts the nodes that changed verdict", () => {
    expect(written(headText(CHANGED))).toBe(
      "2 of 7 nodes changed verdict between attempts 1 and 3, by the changes after entry 5, up to 20.",
    );
    expect(written(headText({ ...CHANGED, changed: 0 }))).toBe(
      "No node changed verdict between attempts 1 and 3, by the changes after entry 5, up to 20.",
    );
  });

  it("names the change, with its link", () => {
    if (!ENTRY) throw new Error("no entry");
    const text = (more: Partial<typeof ENTRY>) => written(entryText({ ...ENTRY, ...more }, ({ rv }) => `entry ${rv}`));
    expect(text({})).toContain("Entry 12<entry 12>: Node [n1] was changed by ann");
    expect(text({})).toContain("turned 1 node, proven by two runs:");
    expect(text({ kind: "Pod", namespace: "d", name: "x", operation: "created" })).toContain("Pod d/x was created");
    expect(text({ kind: "PersistentVolume", name: "v", operation: "deleted" })).toContain("v was deleted");
  });

  it("says what a node was and what it is", () => {
    if (!ROW) throw new Error("no row");
    expect(written(turnedText(ROW))).toBe("[n1]: fits → NodeResourcesFit: Insufficient cpu");
    expect(written(turnedText({ ...ROW, was_there: false }))).toContain("no such node → ");
    expect(written(turnedText({ ...ROW, is_there: false, after: null }))).toBe("[n1]: fits → no such node");
  });
});
