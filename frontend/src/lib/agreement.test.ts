import { describe, expect, it } from "vitest";
import type { Comparison } from "../contract/api.gen";
import { comparisonText, OUTCOMES, rateText, TONES } from "./agreement";

const ONE: Comparison = {
  id: 1,
  seq: 7,
  pod_uid: "u",
  namespace: "default",
  name: "p",
  profile: "default-scheduler",
  outcome: "differed",
  node_name: "n2",
  own_node_name: "n1",
  plugin: "TaintToleration",
  reason: "",
  own_score: 300,
  score: 0,
  own_total: 700,
  total: 400,
  cause: "unknown",
  behind: [],
  tries: 0,
  at: "2026-01-01T00:00:00Z",
};

describe("decisions beside ours", () => {
  it.each<[string, Partial<Comparison>, string[]]>([
    ["scores differ", {}, ["n2", "n1", "TaintToleration", "300", "cause unknown"]],
    [
      "a filter refuses",
      { plugin: "NodeResourcesFit", reason: "Insufficient cpu", own_score: null, score: null },
      ["Insufficient cpu"],
    ],
    ["no node of ours", { own_node_name: "", plugin: "", cause: "unknown" }, ["no node"]],
    ["both agree", { outcome: "agreed", own_node_name: "n2" }, ["n2", "as this engine did"]],
    ["a matter of chance", { outcome: "tied" }, ["same total"]],
    [
      "both agree on a state of before",
      { outcome: "earlier", behind: [{ kind: "Node", changes: 2, seconds: 0.41 }] },
      ["n2", "n1", "Node of 0.41 s before", "2 changes"],
    ],
    [
      "a binding that came later was known",
      { outcome: "earlier", behind: [{ kind: "Binding", changes: -1, seconds: -0.02 }] },
      ["Binding of 0.02 s after, with 1 change"],
    ],
    [
      "what came in the same step was known",
      { outcome: "earlier", behind: [{ kind: "Binding", changes: -2, seconds: 0 }] },
      ["Binding of 0 s after, with 2 changes more"],
    ],
    ["it stays open", { outcome: "uncertain", cause: "state", tries: 64 }, ["64 states", "n2"]],
    [
      "it did not look at all nodes",
      { outcome: "uncertain", cause: "sampling", own_node_name: "" },
      ["no node", "some of the nodes", "need not have looked at better ones."],
    ],
    ["another scheduler", { outcome: "other", profile: "volcano" }, ["volcano"]],
  ])("says that %s", (_, changes, parts) => {
    const text = comparisonText({ ...ONE, ...changes });
    for (const part of parts) expect(text).toContain(part);
  });

  it("are good when they agree, bad when they differ, and to be looked at when that is not known", () => {
    expect(OUTCOMES.map((outcome) => TONES[outcome])).toEqual(["good", "good", "good", "bad", "warn", "warn"]);
  });

  it("rounds shares down, so that only full agreement is 100 %", () => {
    expect([rateText(null), rateText(1), rateText(0.9999)]).toEqual(["–", "100 %", "99.9 %"]);
  });
});
