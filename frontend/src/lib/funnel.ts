/** How the nodes of a cluster became the feasible ones of an attempt: filter by filter, in the order they ran. */
import type { Attempt, Matrix, SchedulerConfig } from "../contract/api.gen";
import { t } from "../i18n/index.svelte";

export interface Stage {
  readonly plugin: string;
  readonly refused: number; // nodes
  readonly left: number; // nodes that passed it and all before
}

export interface Funnel {
  readonly unseen: number; // nodes that were never looked at
  readonly stages: readonly Stage[]; // of plugins that refused nodes
  readonly idle: readonly string[]; // filters that ran and refused none
  readonly spare: number; // nodes that passed, beyond those wanted
}

type Found = Pick<Attempt, "feasible">;
type Walk = Pick<Matrix, "nodes_total" | "looked_at" | "refused_by" | "skipped_filters">;

/** `order`: the names of the filters, first to last; what is not among them (an extender) ran after them. */
export function funnelOf({ feasible }: Found, matrix: Walk, order: readonly string[]): Funnel {
  const place = (plugin: string): number => (order.includes(plugin) ? order.indexOf(plugin) : order.length);
  const refusing = [...matrix.refused_by].sort((a, b) => place(a.plugin) - place(b.plugin) || b.nodes - a.nodes);
  let left = matrix.looked_at;
  const stages = refusing.map(({ plugin, nodes }) => {
    left -= nodes;
    return { plugin, refused: nodes, left };
  });
  const idle = order.filter(
    (plugin) => !matrix.skipped_filters.includes(plugin) && !refusing.some((one) => one.plugin === plugin),
  );
  return {
    unseen: matrix.nodes_total - matrix.looked_at,
    stages,
    idle: matrix.looked_at ? idle : [],
    spare: left - feasible,
  };
}

/** The filters of a profile in running order; empty where the configuration can no longer be used. */
export function filtersOf(config: SchedulerConfig | undefined, profile: string): readonly string[] {
  const found = config?.effective?.profiles.find((one) => one.scheduler_name === profile);
  return found?.points.find((one) => one.point === "filter")?.plugins.map((plugin) => plugin.name) ?? [];
}

type Unseen = Pick<Matrix, "nodes_total" | "nodes_wanted" | "pre_filter" | "pre_filter_nodes">;

/** Why nodes were not looked at, as far as the attempt says so. */
export function unseenText(attempt: Pick<Attempt, "tried_first" | "node_name" | "feasible">, matrix: Unseen): string {
  if (attempt.tried_first) return t("funnel.nominated", { node: attempt.node_name });
  if (matrix.pre_filter) {
    const { plugin, reasons } = matrix.pre_filter;
    return t("funnel.preFilter", { plugin, reasons: reasons.join(", ") || t("attempt.noReason") });
  }
  const said: string[] = [];
  const named = matrix.pre_filter_nodes;
  if (named !== null && named.length < matrix.nodes_total) said.push(t("funnel.named", { count: named.length }));
  const { nodes_wanted: wanted } = matrix;
  if (wanted !== null && wanted > 0 && attempt.feasible >= wanted) said.push(t("funnel.enough", { count: wanted }));
  return said.join(" ") || t("funnel.unknown");
}
