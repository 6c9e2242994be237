import { describe, expect, it } from "vitest";
import type { Workload } from "../contract/api.gen";
import { byAttention, isRemarkable, isWorkload, matches, progressOf } from "./workloads";

const WEB: Workload = {
  kind: "Deployment",
  namespace: "web",
  name: "storefront",
  created_ms: 0,
  state: "available",
  said: "",
  wanted: 3,
  current: 3,
  updated: 3,
  ready: 3,
  available: 2,
  succeeded: null,
  failed: null,
  active: null,
};

describe("a workload", () => {
  it("is looked for by name, namespace and kind, in any case", () => {
    for (const sought of ["store", "web/st", "deploy"]) expect(matches(WEB, sought)).toBe(true);
    expect(matches(WEB, "job")).toBe(false);
  });

  it("is as far as its available pods, a Job as its completions", () => {
    expect(progressOf(WEB)).toEqual([2, 3]);
    expect(progressOf({ ...WEB, kind: "Job", wanted: 4, available: null, succeeded: 1 })).toEqual([1, 4]);
    expect(progressOf({ ...WEB, kind: "CronJob", wanted: null })).toBeNull();
  });

  it("comes before others when it is being changed or needs attention", () => {
    const states = ["available", "running", "progressing", "stalled", "unavailable", "failed"] as const;
    const sorted = states.map((state) => ({ ...WEB, state })).sort(byAttention);
    expect(sorted.map((one) => one.state)).toEqual([
      "progressing",
      "failed",
      "stalled",
      "unavailable",
      "running",
      "available",
    ]);
    expect(sorted.filter(isRemarkable).length).toBe(4);
    expect(isRemarkable({ ...WEB, state: "deleting" })).toBe(true);
    expect(isRemarkable({ ...WEB, kind: "Job", state: "deleting" })).toBe(false);
  });

  it("is of a kind that makes pods", () => {
    expect(["Deployment", "CronJob", "Job"].every(isWorkload)).toBe(true);
    expect(["Pod", "Node", "ControllerRevision", ""].some(isWorkload)).toBe(false);
  });
});
