import { flushSync } from "svelte";
import { describe, expect, it, vi } from "vitest";
import type { HistoryEntry } from "../../contract/api.gen";
import { ATTEMPT, ENTRY } from "../__fixtures__/attempts";
import { show } from "../__fixtures__/shown";
import AttemptCard from "../pod/AttemptCard.svelte";
import History from "../pod/History.svelte";
import Term from "./Term.svelte";

/** Words that have an explanation, each with it, as screen readers find it. */
function explained(): [string, string | undefined][] {
  return [...document.querySelectorAll("button[aria-describedby]")].map((word) => [
    word.textContent ?? "",
    document.getElementById(word.getAttribute("aria-describedby") ?? "")?.textContent ?? undefined,
  ]);
}

describe("Term", () => {
  it("says what its word means while it has the focus, and Escape takes that away first", () => {
    show(Term, { text: "NodeAdd", why: "A node was added." });
    const closes = vi.fn((event: Event) => event.defaultPrevented);
    addEventListener("keydown", closes);
    const word = document.querySelector("button");
    const why = () => document.querySelector<HTMLElement>("[role=tooltip]")?.hidden;
    const press = () => {
      word?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
      flushSync();
    };
    expect(why()).toBe(true);
    word?.focus();
    flushSync();
    expect(why()).toBe(false);
    press();
    expect(why()).toBe(true);
    press();
    removeEventListener("keydown", closes);
    expect(closes.mock.results.map(({ value }) => value)).toEqual([true, false]);
    expect(explained()).toEqual([["NodeAdd", "A node was added."]]);
  });

  it("stands in the history of a pod, for events and hints", () => {
    const moved = { kind: "queue", what: "active", event: "AssignedPodDelete", hint: "NodeResourcesFit" } as const;
    const entry: HistoryEntry = { ...ENTRY, ...moved };
    const props = { entries: [entry], label: "History", clusterId: 1, key: "a/b", all: false, onall: () => undefined };
    show(History, props);
    expect(explained()).toEqual([
      ["because of AssignedPodDelete", "A pod on a node was deleted or ended, so there is room again."],
      ["queueing hint of NodeResourcesFit", expect.stringContaining("NodeResourcesFit had rejected the pod")],
    ]);
  });

  it("stands beside each colour of the phases of an attempt", () => {
    const attempt = { ...ATTEMPT, last_durations: { filter: 900, later: 20, score: 0 } };
    show(AttemptCard, { attempt, clusterId: 1, last: true });
    const legend = document.querySelector("ul[aria-label='Phases of the attempt']");
    const rows = [...(legend?.querySelectorAll("li") ?? [])];
    expect(rows.map((row) => row.querySelector("button")?.textContent ?? row.textContent?.trim())).toEqual([
      "Filter",
      expect.stringMatching(/^Later\s+20 µs$/),
    ]);
    const bars = [...document.querySelectorAll<HTMLElement>(".phases span")].map((part) => part.style.background);
    expect(rows.map((row) => row.querySelector("i")?.style.background)).toEqual(bars);
    expect(explained()).toContainEqual(["Filter", "Which nodes could take the pod."]);
  });
});
