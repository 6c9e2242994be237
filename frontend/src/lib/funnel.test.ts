import { describe, expect, it } from "vitest";
import type { SchedulerConfig } from "../contract/api.gen";
import { filtersOf, funnelOf, unseenText } from "./funnel";

const ORDER = ["NodeUnschedulable", "TaintToleration", "NodePorts", "NodeResourcesFit"];
const MATRIX = {
  nodes_total: 100,
  looked_at: 60,
  refused_by: [
    { plugin: "NodeResourcesFit", nodes: 30 },
    { plugin: "an.extender", nodes: 4 },
    { plugin: "TaintToleration", nodes: 5 },
  ],
  skipped_filters: ["NodePorts"],
  nodes_wanted: 20 as number | null,
  pre_filter: null,
  pre_filter_nodes: null,
};
const PLACED = { tried_first: false, node_name: "n1", feasible: 20 };

describe("the funnel", () => {
  it("goes through the filters in their order, and then through extenders", () => {
    expect(funnelOf({ feasible: 20 }, MATRIX, ORDER)).toEqual({
      unseen: 40,
      stages: [
        { plugin: "TaintToleration", refused: 5, left: 55 },
        { plugin: "NodeResourcesFit", refused: 30, left: 25 },
        { plugin: "an.extender", refused: 4, left: 21 },
      ],
      idle: ["NodeUnschedulable"],
      spare: 1,
    });
  });

  it("goes by the number of nodes where the order is not known", () => {
    const { stages, idle } = funnelOf({ feasible: 20 }, MATRIX, []);
    expect(stages.map((stage) => stage.refused)).toEqual([30, 5, 4]);
    expect(idle).toEqual([]);
  });

  it("has no stages where no node was looked at", () => {
    const found = funnelOf({ feasible: 0 }, { ...MATRIX, looked_at: 0, refused_by: [] }, ORDER);
    expect(found).toEqual({ unseen: 100, stages: [], idle: [], spare: 0 });
  });
});

describe("nodes that were not looked at", () => {
  const refused = { code: "Unschedulable", plugin: "VolumeBinding", reasons: ["no claim"] };
  it.each([
    ["enough were found", PLACED, {}, "The search ends with 20 feasible nodes (percentageOfNodesToScore)."],
    [
      "one was tried first",
      { ...PLACED, tried_first: true },
      {},
      "n1, to which the pod was nominated, was tried first and fits.",
    ],
    [
      "the pod was refused",
      PLACED,
      { pre_filter: refused },
      "VolumeBinding rejected the pod before any node: no claim.",
    ],
    [
      "few were named",
      { ...PLACED, feasible: 1 },
      { pre_filter_nodes: ["n1", "n2"] },
      "PreFilter left 2 nodes to look at.",
    ],
    [
      "few were named and enough found",
      PLACED,
      { pre_filter_nodes: ["n1"] },
      "PreFilter left 1 node to look at. The search ends with 20 feasible nodes (percentageOfNodesToScore).",
    ],
    ["nobody says", { ...PLACED, feasible: 3 }, {}, "The attempt does not say why."],
    ["nobody says how many were wanted", PLACED, { nodes_wanted: null }, "The attempt does not say why."],
  ])("since %s", (_why, attempt, more, want) => expect(unseenText(attempt, { ...MATRIX, ...more })).toBe(want));
});

it("takes the filters of the attempt's profile", () => {
  const points = [
    { point: "score", plugins: [{ name: "ImageLocality", weight: 1 }] },
    { point: "filter", plugins: ORDER.map((name) => ({ name, weight: null })) },
  ];
  const config = { effective: { profiles: [{ scheduler_name: "b", points }] } } as unknown as SchedulerConfig;
  expect(filtersOf(config, "b")).toEqual(ORDER);
  expect(filtersOf(config, "a")).toEqual([]);
  expect(filtersOf({ ...config, effective: null }, "b")).toEqual([]);
});
