import { expect, it } from "vitest";
import { ATTEMPT } from "../views/__fixtures__/attempts";
import { rejectionChanges } from "./attempts";

it("tells which rejections changed from one attempt to another, the greatest first", () => {
  const [cordon, cpu] = ATTEMPT.rejections;
  if (!cordon || !cpu) throw new Error("the fixture has two");
  const later = { ...ATTEMPT, rejections: [{ ...cpu, count: 55 }] };
  expect(rejectionChanges(ATTEMPT, later)).toEqual([
    { what: "NodeUnschedulable: node(s) were unschedulable", before: 7, after: 0 },
    { what: "NodeResourcesFit: Insufficient cpu", before: 53, after: 55 },
  ]);
  expect(rejectionChanges(ATTEMPT, ATTEMPT)).toEqual([]);
});
