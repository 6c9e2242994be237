import { expect, it, vi } from "vitest";
import type { InVain, ImportReport as Report } from "../../contract/api.gen";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { answered } from "../__fixtures__/cards";
import { show } from "../__fixtures__/shown";
import ObjectPanel from "../object/ObjectPanel.svelte";
import ImportReport from "../shell/ImportReport.svelte";

const VOLUME: InVain = { reason: "volume-phase", kind: "PersistentVolume", count: 1, names: ["v"], message: "" };
const REPORT: Report = {
  files: [],
  left_out: [],
  passed_over: {},
  kinds: {},
  kept: 0,
  admitted: 1,
  not_understood: {},
  refused: [],
  refused_total: 0,
  notes: [],
  rv: 1,
  resources: {},
  seconds: 0,
  in_vain: [{ ...VOLUME, count: 3, names: ["a", "b", "c"] }],
};
const live = { cluster: CLUSTER, pods: new Map(), nodes: new Map(), events: [] } as unknown as State;
const box = () => document.querySelector("[aria-label='Waits in vain']")?.textContent ?? "";

it("stands on the volume that nobody makes available", async () => {
  vi.stubGlobal("fetch", async ({ url }: Request) =>
    answered(url.includes("object-events") ? { events: [] } : { rv: 1, manifest: {}, in_vain: [VOLUME] }),
  );
  show(ObjectPanel, { live, kind: "PersistentVolume", name: "v" });
  await vi.waitFor(() => expect(box()).toContain("PersistentVolume v: has no phase"));
});

it("stands in the report of an import with a count", () => {
  show(ImportReport, { report: REPORT });
  expect(box()).toContain("3 of the kind PersistentVolume (a, b, c): has no phase");
});
