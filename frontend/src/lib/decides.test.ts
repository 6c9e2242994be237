import { afterEach, describe, expect, it } from "vitest";
import type { Amounts, Attempt, BestNode } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { ATTEMPT } from "../views/__fixtures__/attempts";
import { CPU } from "./__fixtures__/amounts";
import { decisionOf } from "./decides";

const EVERYWHERE: Amounts = { ...CPU, nodes: 60 };
const best = (...totals: readonly (number | null)[]): BestNode[] =>
  totals.map((total, place) => ({ node: `n${place + 1}`, total, scores: {} }));
const PLACED: Attempt = {
  ...ATTEMPT,
  result: "scheduled",
  node_name: "n1",
  feasible: 3,
  tied: 1,
  best: best(92, 90, 90),
};
const refused = (count: number, amounts: readonly Amounts[], reason = "Insufficient cpu"): Partial<Attempt> => ({
  rejections: [{ plugin: "NodeResourcesFit", reason, code: "Unschedulable", count, amounts }],
});

/** Nodes in brackets. */
function said(more: Partial<Attempt>, of = ATTEMPT): string {
  const parts = decisionOf({ ...of, ...more });
  return parts.map((part) => ("text" in part ? part.text : "node" in part ? `[${part.node}]` : part.pod)).join("");
}

afterEach(() => i18n.use("en"));

describe("what decided", () => {
  it.each<[string, Partial<Attempt>, string]>([
    ["the total", {}, "[n1] had the highest total score, 92, 2 more than [n2]."],
    [
      "the total, whatever the order",
      { best: best(92, 80, 91) },
      "[n1] had the highest total score, 92, 1 more than [n3].",
    ],
    ["the total of the only one kept", { best: best(92) }, "[n1] had the highest total score, 92."],
    [
      "a draw",
      { tied: 7 },
      "[n1] and 6 other nodes had the highest total score, 92. One of them was drawn at random, with the cluster's seed.",
    ],
    [
      "a draw without scores",
      { tied: 2, best: [] },
      "[n1] and 1 other node had equal scores. One of them was drawn at random, with the cluster's seed.",
    ],
    ["a total of an older version", { tied: null }, "[n1] had a total score of 92."],
    [
      "that it was the only one",
      { feasible: 1, tied: null, best: best(null) },
      "[n1] was the only one, so no scores were needed.",
    ],
    ["a nomination", { tried_first: true, feasible: 1 }, "Tried first: the pod was nominated to [n1]."],
    ["an attempt before", { tried_first: true, nominated_by: { seq: 4, attempt: 1, num_victims: 3 } }, ""],
    ["an observing engine's total", { result: "proposed" }, "[n1] had the highest total score, 92, 2 more than [n2]."],
  ])("for a node: %s", (_what, more, want) => expect(said(more, PLACED)).toBe(want));

  it.each<[string, Partial<Attempt>, string]>([
    [
      "a resource on every node",
      refused(60, [EVERYWHERE]),
      "Of 60 nodes none has 31 cpu free; the most is 15.85, on [node-7].",
    ],
    [
      "a resource on the only node",
      { ...refused(1, [CPU]), evaluated: 1 },
      "[node-7] has 15.85 cpu free, not the 31 that are asked for.",
    ],
    [
      "a resource on some nodes",
      refused(53, [{ ...CPU, nodes: 53 }]),
      "53 of 60 nodes cannot give 31 cpu; the most that is free on one of them is 15.85, on [node-7].",
    ],
    [
      "a resource under two codes, with the largest of both",
      refused(60, [
        { ...CPU, nodes: 59 },
        { ...CPU, there: 30_500, node: "node-9" },
      ]),
      "Of 60 nodes none has 31 cpu free; the most is 30.5, on [node-9].",
    ],
    [
      "something else, with its amounts",
      refused(60, [{ ...EVERYWHERE, kind: "taint", subject: "team=a:NoSchedule" }], "untolerated taint"),
      "Most common reason: untolerated taint (NodeResourcesFit), on 60 of 60 nodes. Not tolerated: team=a:NoSchedule, on 60 nodes such as [node-7].",
    ],
    ["the most frequent reason", {}, "Most common reason: Insufficient cpu (NodeResourcesFit), on 53 of 60 nodes."],
    [
      "the pod alone",
      { ...refused(60, [], "no claim"), evaluated: 0 },
      "Rejected before any node was evaluated: no claim (NodeResourcesFit).",
    ],
    ["nobody says what", { rejections: [], evaluated: 0 }, "Rejected before any node was evaluated."],
    ["nothing", { result: "error" }, ""],
  ])("against all nodes: %s", (_what, more, want) => expect(said(more)).toBe(want));

  it("in Chinese", async () => {
    await i18n.use("zh-Hans");
    expect(said(refused(60, [EVERYWHERE]))).toBe("60 个节点中没有一个空闲 cpu 达到 31；最多的是 [node-7]，有 15.85。");
  });
});
