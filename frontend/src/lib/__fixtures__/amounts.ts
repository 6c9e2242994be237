/** Amounts of a refusal for tests: one node that has too little cpu. */
import type { Amounts } from "../../contract/api.gen";

export const CPU: Amounts = {
  kind: "resource",
  subject: "cpu",
  nodes: 1,
  asked: 31_000,
  there: 15_850,
  node: "node-7",
  capacity: 16_000,
  only: 0,
  nearest: null,
  nearest_node: "",
  values: [],
  others: 0,
  pod: "",
  without: 0,
};
