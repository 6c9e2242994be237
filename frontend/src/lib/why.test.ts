import { describe, expect, it } from "vitest";
import type { NodeTotals, NodeWhy } from "../contract/api.gen";
import { PARTS, TOTALS, TURN, WHY } from "../views/__fixtures__/why";
import { written } from "../views/__fixtures__/written";
import { decidedText, partText, standingText, totalsText, turnTexts } from "./why";

const row = (node: string, plugin = ""): string => `${node}${plugin && `/${plugin}`}`;
const LACKS = { plugin: "NodeResourcesFit", code: "Unschedulable", reasons: ["Insufficient cpu"] };

describe("why a node and not another", () => {
  it.each<[string, Partial<NodeWhy>, string]>([
    ["the total", {}, "[n1] alone had the highest total of 2 feasible nodes."],
    [
      "a draw",
      { by: "draw", tied: 3, drawn: 2 },
      "3 nodes had the highest total; the draw fell on [n1], number 2 of them in the order of the walk.",
    ],
    ["nobody else", { by: "only", feasible: 1 }, "[n1] was the only feasible node of 3 looked at."],
    ["nobody", { by: "first" }, "Nobody scores: [n1] was the first feasible node."],
    [
      "a nomination",
      { by: "nominated" },
      "The pod was nominated to [n1], which was tried first and fitted; no other node was looked at.",
    ],
  ])("says that %s decided", (_, more, want) => {
    expect(written(decidedText({ ...WHY, ...more }))).toBe(want);
  });

  it.each<[string, Partial<NodeWhy>, string]>([
    ["was compared", {}, ""],
    ["was refused", { standing: "refused", status: LACKS }, "[n2] was refused by NodeResourcesFit: Insufficient cpu"],
    ["was refused for no stored reason", { standing: "refused" }, "[n2] was refused."],
    ["was left out", { standing: "leftOut" }, "[n2] was not among the nodes that PreFilter left."],
    ["was one too many", { standing: "spare" }, "[n2] fitted, but enough feasible nodes had been found."],
    ["was not there", { standing: "absent" }, "n2 was no node of the cluster at this attempt."],
    ["does not exist", { standing: "none", other: "" }, "There was no other node."],
    ["was not looked at", { standing: "unseen", made_again: false }, "[n2] was not looked at: 3 of 5 nodes were."],
    [
      "was not looked at, and fitted",
      { standing: "unseen" },
      "[n2] was not looked at (3 of 5 nodes were); the pod fitted there.",
    ],
    [
      "would have been refused",
      { standing: "unseen", status: LACKS },
      "[n2] was not looked at (3 of 5 nodes were); NodeResourcesFit would have refused it: Insufficient cpu",
    ],
  ])("says that the other %s", (_, more, want) => {
    expect(written(standingText({ ...WHY, ...more }))).toBe(want);
  });

  it.each<[string, Partial<NodeTotals>, string]>([
    ["more", {}, "[n1] has 345<n1>, [n2] 305<n2>: 40 more."],
    ["the same", { other: 345 }, "[n1] has 345<n1>, [n2] 345<n2>: the same."],
    [
      "less, had all been compared",
      { other: 350, of_all: true, best: 360 },
      "Had every node been compared: [n1] has 345<n1>, [n2] 350<n2>: 5 less. The highest would have been 360, of 1 node.",
    ],
  ])("compares totals: %s", (_, more, want) => {
    expect(written(totalsText(WHY, { ...TOTALS, ...more }, row))).toBe(want);
  });

  it("links a plugin's part to its scores", () => {
    const said = PARTS.map((part) => written(partText(part, WHY, row)));
    expect(said).toEqual([
      "NodeResourcesFit: +46<n2/NodeResourcesFit> (88 against 42, weight 1)",
      "ImageLocality: −6<n2/ImageLocality> (10 against 12, weight 3)",
    ]);
  });

  it.each<[string, Partial<NodeWhy>, readonly string[]]>([
    [
      "outright",
      {},
      ["With ImageLocality at weight 24 instead of 3, [n2] alone has the highest total: made again, it is chosen."],
    ],
    [
      "with others",
      { turn: { ...TURN, outright: false, node: "n1" }, without: ["X"] },
      [
        "With ImageLocality at weight 24 instead of 3, [n2] shares the highest total: made again, the draw falls on [n1].",
        "Without the scores of X, [n2] alone would have had the highest total.",
      ],
    ],
    ["by none", { turn: null }, ["No other weight of one plugin, up to 100, gives [n2] the highest total."]],
    ["not while it is not known", { turn: null, made_again: false }, []],
    ["not where it was not compared", { turn: null, standing: "refused" }, []],
  ])("says which weight turns it: %s", (_, more, want) => {
    expect(turnTexts({ ...WHY, ...more }).map(written)).toEqual(want);
  });
});
