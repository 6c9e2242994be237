/** Decisions of a mirrored cluster's scheduler beside ours, in words. */
import type { AgreementSummary, Comparison } from "../contract/api.gen";
import { i18n, t } from "../i18n/index.svelte";
import type { Tone } from "./history";

export const OUTCOMES = ["agreed", "tied", "earlier", "differed", "uncertain", "other"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What is not judged is for the reader to look at. */
export const TONES: Readonly<Record<Outcome, Tone>> = {
  agreed: "good",
  tied: "good",
  earlier: "good",
  differed: "bad",
  uncertain: "warn",
  other: "warn",
};

/** How many decisions were judged: those of other schedulers are not, nor those that stay uncertain. */
export function judgedOf(counts: AgreementSummary["counts"]): number {
  return counts.agreed + counts.tied + counts.earlier + counts.differed;
}

/** A share as a percentage; a dash where there is nothing to share. */
export function rateText(rate: number | null): string {
  return rate === null ? "–" : `${decimal(Math.floor(rate * 1000) / 10, 1)} %`;
}

/** A number with so many digits behind the point at most. */
export function decimal(value: number, digits: number): string {
  return new Intl.NumberFormat(i18n.language, { maximumFractionDigits: digits }).format(value);
}

/** What tells the state on which both agree from that of the binding, kind by kind: "Node of 0.4 s before". */
export function behindText(one: Comparison): string {
  return one.behind
    .map(({ kind, seconds, changes }) =>
      t(changes < 0 ? "mirror.ahead" : "mirror.behind", {
        kind,
        seconds: decimal(Math.abs(seconds), 2),
        changes: Math.abs(changes),
      }),
    )
    .join(t("mirror.behindAnd"));
}

/** What both chose, and what tells the nodes apart. */
export function comparisonText(one: Comparison): string {
  const theirs = one.node_name;
  if (one.outcome === "other") return t("mirror.says.other", { theirs, scheduler: one.profile });
  if (one.outcome === "agreed") return t("mirror.says.agreed", { theirs });
  if (one.outcome === "tied") return t("mirror.says.tied", { theirs, ours: one.own_node_name });
  if (one.outcome === "earlier")
    return t("mirror.says.earlier", { theirs, ours: one.own_node_name || t("mirror.noNode"), behind: behindText(one) });
  const said = [t("mirror.says.differed", { theirs, ours: one.own_node_name || t("mirror.noNode") })];
  if (one.reason) said.push(t("mirror.says.refused", { plugin: one.plugin, reason: one.reason, theirs }));
  else if (one.plugin && one.own_score !== null && one.score !== null)
    said.push(t("mirror.says.scores", { plugin: one.plugin, own: one.own_score, score: one.score }));
  if (one.outcome === "uncertain" && one.cause === "sampling") said.push(t("mirror.says.sampled"));
  else if (one.outcome === "uncertain") said.push(t("mirror.says.uncertain", { tries: one.tries }));
  else if (one.cause) said.push(t("mirror.says.cause", { cause: t(`mirror.cause.${one.cause}`) }));
  return said.join(" ");
}
