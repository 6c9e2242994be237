/** How time passes in a cluster, in a word or two. */
import type { Cluster } from "../contract/api.gen";
import { i18n, t } from "../i18n/index.svelte";

export function clockText({ clock_mode, clock_rate, clock_until_us }: Cluster): string {
  if (clock_until_us !== null) return t("clock.skipping");
  if (clock_mode === "fast") return t("clock.fast");
  return t("clock.times", { rate: i18n.number(clock_mode === "factor" ? (clock_rate ?? 1) : 1, 1) });
}
