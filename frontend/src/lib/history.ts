/** A pod's history in words, and which part of it belongs to an attempt. */
import type { HistoryEntry } from "../contract/api.gen";
import { i18n, t } from "../i18n/index.svelte";
import { eventText } from "./clusterEvents";
import { PREEMPTION } from "./queues";

export type Tone = "good" | "bad" | "warn" | "cool" | "";

const QUEUES = ["active", "backoff", "errorBackoff", "unschedulable", "gated"] as const;
const CACHE = ["assumed", "waiting", "confirmed", "forgotten", "finished"] as const;
const WORK = ["pending", "done", "refused", "superseded"] as const;
const RESULTS = ["scheduled", "unschedulable", "error", "skipped", "noProfile", "proposed"] as const;

/** What happened, in a few words. */
export function historyText(entry: HistoryEntry): string {
  const node = entry.node;
  switch (entry.kind) {
    case "queue": {
      const queue = QUEUES.find((name) => name === entry.what);
      if (queue === "gated" && entry.plugins.includes(PREEMPTION)) return t("history.queue.preempting");
      return queue ? t(`history.queue.${queue}`) : t("history.queue.left");
    }
    case "cache": {
      const move = CACHE.find((name) => name === entry.what);
      return move ? t(`history.cache.${move}`, { node }) : entry.what;
    }
    case "attempt": {
      const result = RESULTS.find((name) => name === entry.what);
      const number = entry.attempts ?? 0;
      return t("history.attempt", { number, result: result ? t(`attempt.${result}`) : entry.what });
    }
    case "binding": {
      const status = WORK.find((name) => name === entry.what);
      return status ? t(`history.binding.${status}`, { node }) : entry.what;
    }
    case "eviction": {
      const status = WORK.find((name) => name === entry.what);
      return status === "done" ? t("history.eviction.done", { node }) : t("history.eviction.asked", { node });
    }
    case "event":
      return t("history.event", { reason: entry.what });
    default:
      entry.kind satisfies never;
      return "";
  }
}

/** A short text, and what its words mean where they are the engine's own. */
export interface Detail {
  readonly text: string;
  readonly why: string | null;
}

/** What moved it, who is blamed, how long it waits, why it failed. */
export function historyDetails(entry: HistoryEntry): readonly Detail[] {
  const said: Detail[] = [];
  const say = (text: string, why: string | null = null) => said.push({ text, why });
  if (entry.event) say(t("history.by", { event: entry.event }), eventText(entry.event));
  if (entry.hint) say(t("history.hint", { plugin: entry.hint }), t("history.hintWhy", { plugin: entry.hint }));
  if (entry.plugins.length) {
    const plugins = entry.plugins.join(", ");
    if (entry.kind === "cache") say(t("history.waitsFor", { plugins }));
    else say(t("history.blamed", { plugins }), t("history.blamedWhy"));
  }
  if (entry.early) say(t("history.early"), eventText("PopFromBackoffQ"));
  if (entry.until) {
    const time = i18n.moment(Date.parse(entry.until));
    say(t(entry.kind === "queue" ? "history.latest" : "history.until", { time }));
  }
  if (entry.message && entry.kind !== "attempt") say(entry.message);
  return said;
}

export function historyTone(entry: HistoryEntry): Tone {
  switch (entry.what) {
    case "scheduled":
    case "confirmed":
    case "done":
      return entry.kind === "eviction" ? "bad" : "good";
    case "forgotten":
    case "refused":
    case "error":
    case "errorBackoff":
      return "bad";
    case "unschedulable":
    case "backoff":
    case "superseded":
      return "warn";
    case "assumed":
    case "waiting":
    case "active":
      return "cool";
    default:
      return "";
  }
}

/** Whether no later attempt of these has the same number: one may, where counting began anew. */
export function isLastOfNumber(
  entries: readonly HistoryEntry[],
  { kind, attempts, attempt_seq }: HistoryEntry,
): boolean {
  const last = entries.findLast((other) => other.kind === kind && other.attempts === attempts);
  return last?.attempt_seq === attempt_seq;
}

/** From the newest time this stored attempt was made until the next attempt began. */
export function historyOf(entries: readonly HistoryEntry[], seq: number): readonly HistoryEntry[] {
  const start = entries.findLastIndex((entry) => entry.attempt_seq === seq);
  if (start < 0) return [];
  const next = entries.findIndex((entry, index) => index > start && entry.kind === "attempt");
  return entries.slice(start + 1, next < 0 ? undefined : next);
}
