/** What was opened from the search last, as this browser keeps it: the latest first, each thing once. */
import type { SearchHit } from "../contract/api.gen";

/** Enough to show it and to open it; its state may be another by now. */
export type Opened = Pick<SearchHit, "kind" | "cluster_id" | "cluster" | "namespace" | "name" | "of">;

export const KEPT = 8;
const WORDS = ["kind", "cluster", "namespace", "name", "of"] as const;

export function withOpened(kept: string, hit: Opened): string {
  const { cluster_id, cluster, namespace, name, of } = hit;
  const kind = hit.kind === "gonepod" ? "pod" : hit.kind; // one thing, whether it is there or not
  const opened: Opened = { kind, cluster_id, cluster, namespace, name, of };
  const others = openedIn(kept).filter((one) => keyOf(one) !== keyOf(opened));
  return JSON.stringify([opened, ...others].slice(0, KEPT));
}

/** What is none of ours is passed over. */
export function openedIn(kept: string): readonly Opened[] {
  try {
    const found: unknown = JSON.parse(kept || "[]");
    return Array.isArray(found) ? found.filter(isOpened) : [];
  } catch {
    return [];
  }
}

export const keyOf = ({ kind, cluster_id, namespace, name, of }: Opened): string =>
  JSON.stringify([kind, cluster_id, namespace, name, of]);

function isOpened(value: unknown): value is Opened {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Readonly<Record<string, unknown>>;
  return WORDS.every((word) => typeof record[word] === "string") && typeof record.cluster_id === "number";
}
