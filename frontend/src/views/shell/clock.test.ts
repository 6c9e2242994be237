import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Clock, Cluster } from "../../contract/api.gen";
import { clockText } from "../../lib/clock";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { store } from "../../state/store.svelte";
import { answered, refused } from "../__fixtures__/cards";
import { button, show } from "../__fixtures__/shown";
import ClockMenu from "./ClockMenu.svelte";

const CLOCK: Clock = {
  mode: "real",
  rate: null,
  now_us: 1_700_000_000_000_000,
  wall_us: 0,
  until_us: null,
  next_due_us: null,
  waits_for_scheduler: false,
};
let sent: unknown[] = [];
let refusal: string | null = null;

beforeEach(() => {
  [sent, refusal, store.me] = [[], null, null];
  vi.stubGlobal("fetch", async (request: Request) => {
    sent.push(await request.json());
    return refusal ? refused("invalid", refusal, 422) : answered(CLOCK);
  });
});

const menu = (more: Partial<Cluster> = {}, waits = false) =>
  show(ClockMenu, { cluster: { ...CLUSTER, ...more }, found: CLOCK, waits });

describe("the clock's menu", () => {
  it.each([
    ["Real time", { mode: "real" }],
    ["60×", { mode: "factor", rate: 60 }],
    ["As fast as possible", { mode: "fast" }],
    ["To the next event", { skip: "next" }],
    ["5 minutes", { skip_seconds: 300 }],
    ["1 hour", { skip_seconds: 3600 }],
  ])("asks for %s", async (name, want) => {
    menu();
    button(name).click();
    await vi.waitFor(() => expect(sent).toEqual([want]));
  });

  it("asks for a rate that is typed in, and none that is no rate", async () => {
    menu();
    const field = document.querySelector("input") as HTMLInputElement;
    for (const typed of ["-3", "", "7.5"]) {
      field.value = typed;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
    await vi.waitFor(() => expect(sent).toEqual([{ mode: "factor", rate: 7.5 }]));
  });

  it("says where a skip ends, and stops it", async () => {
    menu({ clock_until_us: 0 });
    expect(document.body.textContent).toContain("Skipping to the next event");
    button("Stop").click();
    await vi.waitFor(() => expect(sent).toEqual([{ skip: "stop" }]));
  });

  it("says what the service refuses", async () => {
    refusal = "rate: must be above 0 and at most 100000";
    menu();
    button("10×").click();
    await vi.waitFor(() => expect(document.querySelector("[role=alert]")?.textContent).toContain(refusal));
  });

  it("can be read by viewers, not changed", () => {
    store.me = { username: "eve", is_superuser: false, may_create_clusters: false, roles: {} } as never;
    menu();
    expect([...document.querySelectorAll("button, input")].every((one) => one.hasAttribute("disabled"))).toBe(true);
    expect(document.body.textContent).toContain("Only operators");
  });

  it("says that time waits for the scheduler", () => {
    menu({ clock_mode: "fast" }, true);
    expect(document.querySelector("[role=status]")?.textContent).toContain("Waits for the scheduler");
  });
});

describe("clockText", () => {
  it.each<[string, Partial<Cluster>]>([
    ["1×", {}],
    ["60×", { clock_mode: "factor", clock_rate: 60 }],
    ["Fastest", { clock_mode: "fast" }],
    ["Skipping", { clock_mode: "factor", clock_rate: 60, clock_until_us: 5 }],
  ])("is %s", (want, more) => expect(clockText({ ...CLUSTER, ...more })).toBe(want));
});
