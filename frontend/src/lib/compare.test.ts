import { describe, expect, it } from "vitest";
import type { MatrixNode, ScorePlugin } from "../contract/api.gen";
import { columnsOf, differences, signed } from "./compare";

const score = (raw: number, normalized: number, weight: number) => ({ raw, normalized, weighted: normalized * weight });
const PLUGINS: ScorePlugin[] = [
  { name: "TaintToleration", weight: 3, lowest: score(0, 100, 3), highest: score(0, 100, 3) },
  { name: "NodeResourcesFit", weight: 1, lowest: score(20, 20, 1), highest: score(70, 70, 1) },
  { name: "ImageLocality", weight: 2, lowest: score(1, 0, 2), highest: score(9, 0, 2) }, // normalized away
];
const node = (name: string, fit: number, image: number): MatrixNode => ({
  node: name,
  feasible: true,
  status: null,
  total: 0,
  tied: false,
  scores: {
    TaintToleration: score(0, 100, 3),
    NodeResourcesFit: score(fit, fit, 1),
    ImageLocality: score(image, 0, 2),
  },
  now: null,
});
const REFUSED: MatrixNode = { ...node("n3", 0, 0), feasible: false, total: null, scores: {} };

describe("columns of a matrix", () => {
  const names = (kind: "raw" | "weighted") => columnsOf(PLUGINS, kind).constant.map((plugin) => plugin.name);
  it("are folded where all nodes have the same of what is shown", () => {
    expect(names("weighted")).toEqual(["TaintToleration", "ImageLocality"]);
    expect(names("raw")).toEqual(["TaintToleration"]);
    expect(columnsOf(PLUGINS, "raw").telling.map((plugin) => plugin.name)).toEqual([
      "NodeResourcesFit",
      "ImageLocality",
    ]);
  });
});

describe("two nodes", () => {
  it("differ by plugin, the greatest difference first", () => {
    const found = differences(PLUGINS, node("n1", 20, 9), node("n2", 70, 1), "raw");
    expect(found.map(({ what, more }) => [what, more])).toEqual([
      ["NodeResourcesFit", -50],
      ["ImageLocality", 8],
      ["TaintToleration", 0],
    ]);
    expect(found[0]).toEqual({ what: "NodeResourcesFit", left: 20, right: 70, more: -50 });
  });

  it("of which one was refused have no scores to compare", () =>
    expect(differences(PLUGINS, node("n1", 20, 9), REFUSED, "raw")).toEqual([]));

  it.each([
    [3, "+3"],
    [0, "0"],
    [-3, "−3"],
    [-12_345, "−12,345"],
  ])("differ by %d", (value, want) => expect(signed(value)).toBe(want));
});
