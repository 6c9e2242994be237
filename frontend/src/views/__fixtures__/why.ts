/** Why a node was chosen and not another, for tests. */
import type { NodeTotals, NodeWhy, PluginPart, WeightTurn } from "../../contract/api.gen";

export const PARTS: readonly PluginPart[] = [
  { plugin: "NodeResourcesFit", weight: 1, node: 88, other: 42, difference: 46 },
  { plugin: "ImageLocality", weight: 3, node: 10, other: 12, difference: -6 },
];
export const TOTALS: NodeTotals = {
  node: 345,
  other: 305,
  plugins: [...PARTS],
  by_extenders: 0,
  best: 345,
  num_best: 1,
  of_all: false,
};
export const TURN: WeightTurn = { plugin: "ImageLocality", weight: 3, to: 24, outright: true, node: "n2" };
export const WHY: NodeWhy = {
  seq: 9,
  node: "n1",
  other: "n2",
  by: "total",
  tied: 1,
  drawn: 0,
  feasible: 2,
  looked_at: 3,
  nodes_total: 5,
  standing: "compared",
  status: null,
  amounts: null,
  totals: TOTALS,
  made_again: true,
  turn: TURN,
  without: [],
  difference: null,
};
