/** Why nodes were refused, as people count it: by plugin and reason. */
import type { Amounts, PendingReason, Rejection } from "../contract/api.gen";

export interface Refusal {
  readonly plugin: string;
  readonly reason: string; // empty: the plugin gave none
  readonly count: number; // nodes
  /** How many nodes under each code: whether evicting pods could help depends on it. */
  readonly codes: readonly { readonly code: string; readonly count: number }[];
  /** What was asked and what there was, of each code by itself; empty where it was not kept. */
  readonly amounts: readonly Amounts[];
}

/** One refusal for each plugin and reason, the most frequent first; one reason may come with several codes. */
export function refusalsOf(rejections: readonly Rejection[]): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const { plugin, reason, code, count, amounts } of rejections) {
    const id = JSON.stringify([plugin, reason]);
    const known = found.get(id) ?? { plugin, reason, count: 0, codes: [], amounts: [] };
    found.set(id, {
      ...known,
      count: known.count + count,
      codes: [...known.codes, { code, count }],
      amounts: [...known.amounts, ...amounts],
    });
  }
  return [...found.values()].sort(
    (a, b) => b.count - a.count || a.plugin.localeCompare(b.plugin) || a.reason.localeCompare(b.reason),
  );
}

export interface Grouped {
  readonly main: readonly PendingReason[];
  readonly single: readonly PendingReason[]; // that took one node from each of their pods, and left most others
}

/** Reasons that concern a single node by themselves, unless there are no others. The order stays. */
export function groupedOf(reasons: readonly PendingReason[]): Grouped {
  const isSingle = ({ nodes, pods, share }: PendingReason): boolean => nodes === pods && share < pods / 2;
  const main = reasons.filter((reason) => !isSingle(reason));
  return main.length ? { main, single: reasons.filter(isSingle) } : { main: reasons, single: [] };
}
