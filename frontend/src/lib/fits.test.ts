import { describe, expect, it } from "vitest";
import type { FitChange } from "../contract/api.gen";
import { FITS } from "../views/__fixtures__/fits";
import { written } from "../views/__fixtures__/written";
import { changeText, namesText, thenText } from "./fits";

const CHANGE: FitChange = {
  kind: "uncordon",
  field: "f",
  old: "a",
  new: "b",
  node: "n1",
  step: "",
  pods: [],
  more: [],
  of: "",
};

describe("what would make a pod fit", () => {
  it.each<[Partial<FitChange>, string]>([
    [{ kind: "gate" }, "Lift the gate a"],
    [{}, "Uncordon [n1]"],
    [{ kind: "maxSkew" }, "Set f to b instead of a"],
    [{ kind: "toleration" }, "Tolerate b"],
    [{ kind: "hostPort" }, "Drop f: a"],
    [{ kind: "nodeAffinity" }, "Drop f: a"],
    [{ kind: "nodeAffinity", new: "preferred" }, "Only prefer f"],
    [{ kind: "relabel" }, "Label [n1]: f = b"],
    [{ kind: "relabel", new: "" }, "Take f off [n1]"],
    [{ kind: "evict", pods: ["d/x", "d/y"] }, "Evict pods from [n1]: d/x, d/y"],
    [{ kind: "addNode" }, "Add a node like [b]"],
    [{ kind: "addNode", more: ["n2"] }, "Add 2 nodes like [b]"],
    [{ kind: "quota", of: "ResourceQuota/q" }, "Set f of ResourceQuota/q to b instead of a"],
    [{ more: ["n2", "n3"] }, "Uncordon n1, n2, n3"],
  ])("says each change: %j", (change, want) => {
    expect(written(changeText({ ...CHANGE, ...change }))).toBe(want);
  });

  it("says where the pod would be, and who goes", () => {
    const [first, second] = FITS.suggestions;
    expect(first && written(thenText(first))).toBe("Then on [n1], of 2 nodes that it fits on. Cost 20.");
    expect(second && written(thenText(second))).toBe("Then on [n2], of 1 node that it fits on. Cost 60.");
    const raised = { ...FITS.suggestions[1], changes: [{ ...CHANGE, kind: "priority" as const }] };
    expect(written(thenText(raised as never))).toBe("Then on [n2]; these go: d/x. Cost 60.");
    const added = { ...FITS.suggestions[0], changes: [{ ...CHANGE, kind: "addNode" as const }] };
    expect(written(thenText(added as never))).toContain("Then on n1,");
  });

  it("says where several pods would be", () => {
    const places = ["n1", "n2", "n1"].map((node, i) => ({ pod: `d/${i}`, node }));
    const found = { ...FITS.suggestions[0], places };
    expect(written(thenText(found as never))).toBe("Then on n1 (2), n2. Cost 20.");
    expect(written(thenText({ ...found, victims: ["d/x"] } as never))).toContain("n2; these go: d/x.");
  });

  it("names a few pods", () => {
    expect(namesText(["1", "2", "3", "4", "5", "6", "7"])).toBe("1, 2, 3, 4, 5, +2");
  });
});
