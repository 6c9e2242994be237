import { expect, test } from "vitest";
import { toOpen, withShown } from "./opened";

const [alpha, sample, zeta] = [
  { id: 7, is_sample: false },
  { id: 1, is_sample: true },
  { id: 9, is_sample: false },
];

test.each([
  ["a first start shows the sample", [alpha, sample, zeta], "", 1],
  ["the one shown last", [alpha, sample, zeta], "9 7", 9],
  ["the one before it when that is gone", [alpha, sample], "9 7", 7],
  ["the sample when all are gone", [alpha, sample], "9 12", 1],
  ["the first by name where there is no sample", [alpha, zeta], "", 7],
  ["none", [], "9", null],
])("without an address: %s", (_, clusters, shown, id) => {
  expect(toOpen(clusters, shown)).toBe(id);
});

test("the latest stands first, each once, and not for ever", () => {
  expect(withShown("", 3)).toBe("3");
  expect(withShown("7 3 9", 3)).toBe("3 7 9");
  const many = Array.from({ length: 50 }, (_, id) => id).reduce(withShown, "");
  expect(many.split(" ").slice(0, 2)).toEqual(["49", "48"]);
  expect(many.split(" ")).toHaveLength(20);
});
