import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../api/client";
import type { Timeline } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { router } from "../../state/route.svelte";
import { store } from "../../state/store.svelte";
import { answered } from "../__fixtures__/cards";
import { close, found, said, show, type } from "../__fixtures__/shown";
import PastBand from "./PastBand.svelte";
import TimeStrip from "./TimeStrip.svelte";

const [BEGAN, NOW] = [Date.UTC(2026, 10, 25, 12), Date.UTC(2026, 10, 25, 14)];
const TIMELINE: Timeline = {
  since_ms: BEGAN,
  until_ms: NOW,
  bucket_ms: 30_000,
  begins: { rv: 4, seq: 2, at_ms: BEGAN },
  buckets: [{ at_ms: BEGAN + 60_000, results: { scheduled: 5 }, preemptions: 1, refused: 0 }],
  configurations: [],
};

beforeEach(() => {
  vi.stubGlobal("fetch", async () => answered(TIMELINE));
  history.replaceState(null, "", "#/clusters/1");
  router.hash = location.hash;
  store.moment = { wanted: "9.9", position: "9.9", asked: "9.9", time: BEGAN + 3_600_000 };
});

afterEach(() => {
  close();
  [store.moment, store.momentProblem, store.going, store.state] = [null, null, null, null];
  queries.clear();
});

const at = () => new URLSearchParams(location.hash.split("?")[1] ?? "").get("at");

async function strip(): Promise<HTMLElement> {
  show(TimeStrip, { clusterId: 1, onclose: () => undefined });
  await vi.waitFor(() =>
    expect(document.querySelector("[role=slider]")?.getAttribute("aria-valuemin")).toBe(String(BEGAN / 1000)),
  );
  flushSync();
  return found<HTMLElement>("[role=slider]");
}

function press(handle: HTMLElement, key: string, more: KeyboardEventInit = {}): void {
  handle.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
}

describe("the line", () => {
  it("has the moment at its place, and what happened", async () => {
    const handle = await strip();
    expect(handle.style.left).toBe("50%");
    expect(said()).toMatch(/Attempts\s*5/);
    expect(document.querySelectorAll(".sign.preemptions").length).toBe(1);
  });

  it.each([
    ["Home", {}, "4.2"],
    ["ArrowLeft", {}, new Date(BEGAN + 3_600_000 - 1).toISOString()],
    ["ArrowRight", { shiftKey: true }, "2026-11-25T13:01:00Z"],
    ["ArrowLeft", { ctrlKey: true }, "2026-11-25T12:00:00Z"],
    ["End", {}, null],
  ] as const)("goes by %s %o", async (key, more, want) => {
    const handle = await strip();
    press(handle, key, more);
    await vi.waitFor(() => expect(at()).toBe(want));
  });

  it("says how long a part of time is drawn", async () => {
    await strip();
    const lengths = () => [...document.querySelectorAll("[aria-label='Span of the line'] button")];
    const pressed = () => lengths().map((one) => one.getAttribute("aria-pressed"));
    expect(pressed()).toEqual(["true", "false", "false", "false"]);
    (lengths()[2] as HTMLButtonElement).click();
    flushSync();
    expect(pressed()).toEqual(["false", "false", "true", "false"]);
  });

  it("goes where the field says", async () => {
    await strip();
    type(found<HTMLInputElement>("input"), "10m ago");
    document.querySelector("form")?.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
    expect(at()).toBe("10m ago");
  });
});

describe("the band", () => {
  it("says which moment is shown and leads back", () => {
    history.replaceState(null, "", "#/clusters/1?at=9.9&queue=backoff");
    router.hash = location.hash;
    show(PastBand, {});
    expect(said()).toContain("9.9");
    found(".back").click();
    expect(location.hash).toBe("#/clusters/1?queue=backoff");
  });

  const saved = () => document.querySelector<HTMLAnchorElement>("a[download]");

  it("saves the moment that is shown as a file", () => {
    store.state = { cluster: { ...CLUSTER, id: 7 } } as State;
    show(PastBand, {});
    expect(saved()?.textContent).toBe("Save as a file");
    expect(saved()?.getAttribute("href")).toBe("/api/clusters/7/history/export?from=9.9&to=9.9");
    store.moment = { wanted: "9.9", position: "12.30", asked: "9.9", time: BEGAN };
    flushSync();
    expect(saved()?.getAttribute("href")).toContain("from=12.30&to=12.30");
    const nameless = saved()?.nextElementSibling;
    expect(nameless?.textContent).toBe("Save without names");
    expect(nameless?.getAttribute("href")).toContain("from=12.30&to=12.30&anonymise=true");
  });

  it("saves none of a mirror, nor of a moment that cannot be shown", () => {
    store.state = { cluster: { ...CLUSTER, is_mirror: true } } as State;
    show(PastBand, {});
    expect(saved()).toBeNull();
    store.state = { cluster: CLUSTER } as State;
    store.moment = null;
    store.momentProblem = new ApiError("gone", "history begins at 7.9", { rv: 7, seq: 9 }, 410);
    flushSync();
    expect(saved()).toBeNull();
  });

  it("says why a moment cannot be shown, and where history begins", () => {
    store.moment = null;
    store.momentProblem = new ApiError("gone", "history begins at 7.9", { rv: 7, seq: 9 }, 410);
    show(PastBand, {});
    expect(found("[role=alert]").textContent).toContain("history begins at 7.9");
    found("[role=alert] button").click();
    expect(at()).toBe("7.9");
  });

  it("is not there in the present", () => {
    store.moment = null;
    show(PastBand, {});
    expect(document.querySelector("section")).toBeNull();
  });
});
