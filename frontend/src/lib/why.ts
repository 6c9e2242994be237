/** Why a node was chosen and not another, in sentences; what they say of the two is linked to where it stands in full. */
import type { NodeTotals, NodeWhy, PluginPart } from "../contract/api.gen";
import { t } from "../i18n/index.svelte";
import { type Sentence, sentence } from "./amounts";
import { signed } from "./compare";

/** The address of a node's row, by the scores of a plugin where one is named. */
export type RowHref = (node: string, plugin?: string) => string;

/** What decided for the chosen node. */
export function decidedText(why: NodeWhy): Sentence {
  const node = { node: why.node };
  switch (why.by) {
    case "nominated":
      return sentence("why.byNominated", { node });
    case "only":
      return sentence("why.byOnly", { node, looked: why.looked_at });
    case "first":
      return sentence("why.byFirst", { node });
    case "draw":
      return sentence("why.byDraw", { node, tied: why.tied, drawn: why.drawn });
    case "total":
      return sentence("why.byTotal", { node, feasible: why.feasible });
  }
}

/** What became of the other node; empty where its total says it. */
export function standingText(why: NodeWhy): Sentence {
  const node = { node: why.other };
  const values = { node, looked: why.looked_at, total: why.nodes_total };
  switch (why.standing) {
    case "compared":
      return [];
    case "none":
      return sentence("why.none", {});
    case "absent":
      return sentence("why.absent", { name: why.other });
    case "refused":
      return sentence(why.status ? "why.refused" : "why.refusedSomehow", { node, ...reasonOf(why) });
    case "leftOut":
      return sentence("why.leftOut", { node });
    case "spare":
      return sentence("why.spare", { node });
    case "unseen":
      if (!why.made_again) return sentence("why.unseen", values);
      return why.status
        ? sentence("why.unseenRefused", { ...values, ...reasonOf(why) })
        : sentence("why.unseenFits", values);
  }
}

/** Both totals; null: one of the nodes has none. */
export function totalsText(why: NodeWhy, totals: NodeTotals, row: RowHref): Sentence {
  const apart = totals.node - totals.other;
  const key = apart === 0 ? "why.totalsEqual" : apart > 0 ? "why.totalsMore" : "why.totalsLess";
  const said = sentence(key, {
    node: { node: why.node },
    other: { node: why.other },
    mine: { text: String(totals.node), href: row(why.node) },
    others: { text: String(totals.other), href: row(why.other) },
    apart: Math.abs(apart),
  });
  if (!totals.of_all) return said;
  return [
    { text: `${t("why.ofAll")} ` },
    ...said,
    { text: ` ${t("why.best", { best: totals.best, nodes: totals.num_best })}` },
  ];
}

/** A plugin's part in the difference. */
export function partText(part: PluginPart, why: NodeWhy, row: RowHref): Sentence {
  return sentence("why.part", {
    plugin: part.plugin,
    apart: { text: signed(part.difference), href: row(why.other, part.plugin) },
    mine: part.node,
    others: part.other,
    weight: part.weight,
  });
}

/** Which weight would have turned it, and which plugins without whose scores it would have been; empty: not known. */
export function turnTexts(why: NodeWhy): readonly Sentence[] {
  if (!why.made_again || why.difference || why.standing !== "compared") return [];
  const node = { node: why.other };
  const { turn } = why;
  const key = turn?.outright ? "why.turn" : "why.turnShared";
  const first = turn
    ? sentence(key, { node, plugin: turn.plugin, from: turn.weight, to: turn.to, drawn: { node: turn.node } })
    : sentence("why.noTurn", { node });
  return [first, ...why.without.map((plugin) => sentence("why.without", { node, plugin }))];
}

const reasonOf = ({ status }: NodeWhy) => ({
  plugin: status?.plugin ?? "",
  reasons: status?.reasons.join(", ") ?? "",
});
