import { expect, it } from "vitest";
import { inOrder } from "./phases";

it("puts phases in the order of a cycle, unknown ones last", () => {
  const found = inOrder({ score: 4, own: 1, filter: 3, snapshot: 2 });
  expect(Object.entries(found)).toEqual([
    ["snapshot", 2],
    ["filter", 3],
    ["score", 4],
    ["own", 1],
  ]);
});
