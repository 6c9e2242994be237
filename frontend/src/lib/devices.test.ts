import { afterEach, describe, expect, it } from "vitest";
import type { DeviceTally } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { partsOf } from "./devices";

const TALLY: DeviceTally = {
  claim: "default/c",
  request: "r",
  wanted: 2,
  devices: 12,
  refused: [
    { owner: "class gpu", index: 0, devices: 0 },
    { owner: "class gpu", index: 1, devices: 5 },
    { owner: "request", index: 0, devices: 4 },
  ],
  in_use: 2,
  left: 1,
  problem: "",
};

afterEach(() => i18n.use("en"));

describe("parts of a tally", () => {
  it("names each selector that refused something, and leaves no device out", () => {
    const [all, ...parts] = partsOf(TALLY);
    expect(all).toEqual({ text: "Devices there", devices: 12 });
    expect(parts.map((part) => part.text)).toEqual([
      "refused by selector 2 of class gpu",
      "refused by selector 1 of request",
      "selected, in use",
      "selected and free",
    ]);
    expect(parts.reduce((sum, part) => sum + part.devices, 0)).toBe(12);
  });

  it("says that none is free rather than nothing", () => {
    const parts = partsOf({ ...TALLY, in_use: 0, left: 0 });
    expect(parts.at(-1)).toEqual({ text: "selected and free", devices: 0 });
    expect(parts.some((part) => part.text === "selected, in use")).toBe(false);
  });
});
