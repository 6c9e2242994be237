import { afterEach, describe, expect, it, vi } from "vitest";
import type { History as Told } from "../../contract/api.gen";
import { i18n } from "../../i18n/index.svelte";
import { answered } from "../__fixtures__/cards";
import { found, oneLine, show } from "../__fixtures__/shown";
import History from "./History.svelte";

const identical: Told = {
  rv: 120,
  seq: 4711,
  at: "2026-11-20T10:00:00Z",
  cycles: 900,
  unproven_cycles: 0,
  reason: "",
  entries_left: 0,
  difference: null,
  checked_at: "2026-11-20T10:00:05Z",
};
const place = { run: 2, step: 7, seq: 4712, pod: "shop/web-1" };
const difference = { ...place, field: "node_name", recorded: "n1", replayed: "n2" };

async function shown(clusterId: number, history: Told | null): Promise<string> {
  vi.stubGlobal("fetch", async () => answered({ history }));
  show(History, { clusterId });
  return await vi.waitFor(() => oneLine(found(".history")));
}

afterEach(() => i18n.use("en"));

describe("History", () => {
  it("says up to where it is proven, and what is left", async () => {
    const text = await shown(11, { ...identical, entries_left: 5, unproven_cycles: 3, reason: "older" });
    expect(text).toContain("(position 120.4711): 900 cycles made again, identical.");
    expect(text).toContain("5 entries of the log are still to be checked.");
    expect(text).toContain("3 cycles cannot be made again: older");
    expect(document.querySelector('[role="alert"]')).toBeNull();
  });

  it("names the first difference and its pod", async () => {
    const text = await shown(12, { ...identical, difference });
    expect(text).toContain("step 2.7, entry 4,712. shop/web-1 node_name: recorded n1, made again n2.");
    expect(document.querySelector('[role="alert"] a')?.getAttribute("href")).toContain("web-1");
    expect(text).not.toContain("identical");
  });

  it("says so in Chinese", async () => {
    await i18n.use("zh-Hans");
    expect(await shown(13, identical)).toContain("历史已验证至");
  });
});
