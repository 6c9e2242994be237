import { describe, expect, it } from "vitest";
import type { ImportReport } from "../contract/api.gen";
import {
  clusterNameOf,
  filesText,
  isClusterName,
  isHistory,
  kindsText,
  leftOut,
  leftOutCount,
  notesText,
  problemText,
  refusedOf,
  refusedText,
  withPassedOver,
} from "./importReport";

const REPORT: ImportReport = {
  files: [{ name: "dump.json", format: "json", bytes: 2048, documents: 1, objects: 5 }],
  kinds: { Node: { created: 2, unchanged: 1 }, Pod: { created: 0, refused: 1 } },
  kept: 1,
  admitted: 2,
  not_understood: { "policy/v1beta1 PodDisruptionBudget": 3, Secret: 1, Ingress: 2 },
  passed_over: { logs: 1 },
  left_out: [
    {
      api_version: "networking.k8s.io/v1",
      kind: "Ingress",
      count: 2,
      reason: "not_read",
      read_as: "",
      at: ["dump.json: item 4"],
    },
    {
      api_version: "policy/v1beta1",
      kind: "PodDisruptionBudget",
      count: 3,
      reason: "unknown_version",
      read_as: "policy/v1",
      at: [],
    },
    { api_version: "v1", kind: "Secret", count: 1, reason: "confidential", read_as: "", at: ["dump.json: item 5"] },
  ],
  refused: [
    {
      message: "dump.json: item 2 (Pod default/p): spec.containers: Required value",
      file: "dump.json",
      item: 2,
      object: "Pod default/p",
      field: "spec.containers",
      detail: "Required value",
    },
  ],
  refused_total: 4,
  notes: [],
  rv: 9,
  resources: { cpu: { demand: 5_000, capacity: 4_000 }, memory: { demand: 1, capacity: 2 } },
  seconds: 0.25,
  in_vain: [],
};

describe("a history among files", () => {
  it("is told by its beginning", async () => {
    expect(await isHistory(new Blob(["KSCHED-HISTORY 1\n{}"]))).toBe(true);
    expect(await isHistory(new Blob(["KSCHED"]))).toBe(false);
    expect(await isHistory(new Blob([]))).toBe(false);
  });

  it("is none where nothing can be read", async () => {
    const folder = { slice: () => ({ text: () => Promise.reject(new DOMException("a folder")) }) };
    expect(await isHistory(folder as unknown as Blob)).toBe(false);
  });

  it("is said to make a record of the cluster", () => {
    const files = [{ name: "a.history", format: "history", bytes: 2048, documents: 1, objects: 5 }];
    const report = { ...REPORT, files };
    expect(filesText(report)).toEqual(["a.history: history, 2 Ki, 5 objects"]);
    expect(notesText(report)[0]).toMatch(/^This cluster is a record/);
  });
});

describe("an import's report", () => {
  it("is told without the service's keys", () => {
    expect(filesText(REPORT)).toEqual(["dump.json: JSON, 2 Ki, 5 objects"]);
    expect(kindsText(REPORT)).toEqual([
      ["Node", "2 created, 1 unchanged"],
      ["Pod", "1 refused"],
    ]);
    expect(notesText(REPORT)).toEqual([
      "Stored unchanged: 1 object.",
      "Defaulted and admitted as if just created: 2 objects.",
      "Passed over: 1 log of a container.",
      "In total the pods request more than the nodes have: 5 of 4 cpu.",
      "Took 250 ms.",
    ]);
  });

  it("says of each kind that is left out why, and where the first ones stand", () => {
    expect(leftOut(REPORT)).toEqual([
      ["Left out, version not read: policy/v1beta1 PodDisruptionBudget (3; write policy/v1).", [], 3],
      ["Left out, not read by the scheduler: Ingress (2).", ["dump.json: item 4"], 1],
      ["Left out, never imported: Secret (1).", ["dump.json: item 5"], 0],
    ]);
    expect(leftOutCount(REPORT)).toBe(6);
  });

  it("counts whole GPUs of a trace", () => {
    const resources = { "example.com/gpu-milli": { demand: 1_460, capacity: 2_000 } };
    expect(notesText({ ...REPORT, resources })).toContain("GPUs: the pods request 1 of the 2 there are.");
  });

  it("adds what of a folder was not sent", () => {
    expect(withPassedOver(REPORT, 0)).toBe(REPORT);
    expect(withPassedOver(REPORT, 3).passed_over).toEqual({ logs: 1, files: 3 });
    expect(withPassedOver(withPassedOver(REPORT, 3), 2).passed_over).toEqual({ logs: 1, files: 5 });
  });

  it("does not list every file of a folder", () => {
    const files = filesText({ ...REPORT, files: Array.from({ length: 25 }, () => REPORT.files).flat() });
    expect([files.length, files.at(-1)]).toEqual([21, "and 5 more files"]);
  });

  it("says how many refusals it does not list", () => {
    expect(refusedText(REPORT)).toEqual({ shown: REPORT.refused.map(({ message }) => message), more: 3 });
  });

  it("lists what a refusal says of several parts, and nothing where it is of one", () => {
    const { refused, refused_total } = REPORT;
    expect(refusedOf({ refused, refused_total })).toEqual({ refused, refused_total });
    expect(refusedOf({ file: "dump.json", detail: "Required value" })).toBeNull();
  });

  it("says where something is wrong, and nothing where nothing is known", () => {
    expect(problemText({ file: "dump.json", item: 2, field: "", detail: "Required value" })).toEqual([
      ["File", "dump.json"],
      ["Item", "2"],
      ["Problem", "Required value"],
    ]);
  });
});

describe("clusterNameOf", () => {
  it.each([
    ["My dump.json.gz", "my-dump"],
    ["openb_node_list_all_node.csv", "openb-node-list-all-node"],
    ["…", "imported"],
    ["x".repeat(80), "x".repeat(63)],
  ])("makes of %s a name the service takes", (file, name) => {
    expect(clusterNameOf(file)).toBe(name);
    expect(isClusterName(name)).toBe(true);
  });
});
