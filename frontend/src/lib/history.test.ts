import { describe, expect, it } from "vitest";
import type { HistoryEntry } from "../contract/api.gen";
import { ENTRY } from "../views/__fixtures__/attempts";
import { historyDetails, historyOf, historyText, historyTone } from "./history";

const entry = (more: Partial<HistoryEntry>): HistoryEntry => ({ ...ENTRY, kind: "queue", what: "active", ...more });

const texts = (one: HistoryEntry) => historyDetails(one).map(({ text }) => text);

describe("historyText", () => {
  it.each<[Partial<HistoryEntry>, string]>([
    [{ what: "backoff" }, "To the backoff queue"],
    [{ what: "" }, "Left the queue"],
    [{ what: "gated", plugins: ["SchedulingGates"] }, "Gated"],
    [{ what: "gated", plugins: ["DefaultPreemption", "NodeResourcesFit"] }, "Held back while its victims are evicted"],
    [{ kind: "cache", what: "forgotten", node: "n1" }, "Forgotten: no longer assumed on n1"],
    [{ kind: "attempt", what: "unschedulable", attempts: 3 }, "Attempt #3: No node fits"],
    [{ kind: "binding", what: "refused", node: "n1" }, "Binding to n1 refused"],
    [{ kind: "eviction", what: "done", node: "n2" }, "Evicted from n2"],
    [{ kind: "event", what: "Scheduled" }, "Event: Scheduled"],
  ])("tells %o", (more, text) => expect(historyText(entry(more))).toBe(text));
});

describe("historyDetails", () => {
  it("names the event and the hint that moved the pod", () => {
    const moved = entry({ event: "NodeAdd", hint: "NodeResourcesFit" });
    expect(historyDetails(moved)).toEqual([
      { text: "because of NodeAdd", why: "A node was added to the cluster." },
      {
        text: "queueing hint of NodeResourcesFit",
        why: "A queueing hint: NodeResourcesFit had rejected the pod, and judged that this event could change that.",
      },
    ]);
    expect(historyDetails(entry({ event: "OfAPlugin" }))).toEqual([{ text: "because of OfAPlugin", why: null }]);
  });
  it("says that a pod may leave backoff before its end, and where it did", () => {
    const until = "2026-11-21T08:00:10Z";
    expect(texts(entry({ what: "backoff", until }))[0]).toMatch(/^until .* at the latest$/);
    expect(texts(entry({ kind: "cache", what: "waiting", until }))[0]).not.toContain("latest");
    const attempt = entry({ kind: "attempt", what: "unschedulable", early: true });
    expect(texts(attempt)).toEqual(["taken early, nothing else was waiting"]);
  });
  it("says for whom a pod waits, and why a binding failed", () => {
    const waits = entry({ kind: "cache", what: "waiting", plugins: ["Gang"] });
    expect(texts(waits)).toEqual(["waiting for Gang"]);
    const refused = entry({ kind: "binding", what: "refused", message: "the node is gone" });
    expect(texts(refused)).toEqual(["the node is gone"]);
    expect(historyTone(refused)).toBe("bad");
  });
});

describe("historyOf", () => {
  it("takes what followed the newest time an attempt was made", () => {
    const entries = [
      entry({ kind: "attempt", attempt_seq: 2, seq: 2 }),
      entry({ seq: 3 }),
      entry({ kind: "attempt", attempt_seq: 2, seq: 4 }),
      entry({ seq: 5 }),
      entry({ kind: "attempt", attempt_seq: 6, seq: 6 }),
      entry({ seq: 7 }),
    ];
    expect(historyOf(entries, 2).map(({ seq }) => seq)).toEqual([5]);
    expect(historyOf(entries, 6).map(({ seq }) => seq)).toEqual([7]);
    expect(historyOf(entries, 9)).toEqual([]);
  });
});
