import { expect, it } from "vitest";
import { ATTEMPT } from "../views/__fixtures__/attempts";
import { positionBefore, rejectionChanges } from "./attempts";

it("tells which rejections changed from one attempt to another, the greatest first", () => {
  const [cordon, cpu] = ATTEMPT.rejections;
  if (!cordon || !cpu) throw new Error("the fixture has two");
  const later = { ...ATTEMPT, rejections: [{ ...cpu, count: 55 }] };
  expect(rejectionChanges(ATTEMPT, later)).toEqual([
    { what: "NodeUnschedulable: node(s) were unschedulable", left: 7, right: 0, more: -7 },
    { what: "NodeResourcesFit: Insufficient cpu", left: 53, right: 55, more: 2 },
  ]);
  expect(rejectionChanges(ATTEMPT, ATTEMPT)).toEqual([]);
});

it("stands just before an attempt", () => {
  expect(positionBefore({ rv: 12, seq: 40 })).toBe("12.39");
});
