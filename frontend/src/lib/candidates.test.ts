import { expect, it } from "vitest";
import type { PodView, PreemptionNode } from "../contract/api.gen";
import { comparedOf } from "./candidates";

const LIVE = {
  uids: new Map([
    ["a/one", "u1"],
    ["a/two", "u2"],
  ]),
  pods: new Map([
    ["u1", { priority: 5 } as PodView],
    ["u2", { priority: -3 } as PodView],
  ]),
};
const row = (...victims: readonly string[]): PreemptionNode => ({
  node: "n1",
  outcome: "candidate",
  status: null,
  victims,
  num_pdb_violations: 1,
  tied: false,
});

it("compares candidates by violations, priorities and the number of victims", () => {
  expect(comparedOf(row("a/one", "a/two"), LIVE)).toEqual({
    pdb_violations: 1,
    highest_priority: 5,
    sum_of_priorities: 2 + 2 * 2 ** 31,
    number_of_victims: 2,
    latest_start: null,
  });
});

it("knows no priorities where a victim is gone", () => {
  const found = comparedOf(row("a/one", "a/gone"), LIVE);
  expect([found.highest_priority, found.sum_of_priorities, found.number_of_victims]).toEqual([null, null, 2]);
});
