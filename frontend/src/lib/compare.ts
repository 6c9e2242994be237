/** Two nodes of an attempt side by side, and which plugins told nodes apart at all. */
import type { MatrixNode, ScorePlugin } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";

export const SCORES = ["raw", "normalized", "weighted"] as const;
export type ScoreKind = (typeof SCORES)[number];

/** Plugins that gave every node the same score, and the others. */
export function columnsOf(
  plugins: readonly ScorePlugin[],
  kind: ScoreKind,
): { readonly constant: readonly ScorePlugin[]; readonly telling: readonly ScorePlugin[] } {
  const isConstant = ({ lowest, highest }: ScorePlugin): boolean => lowest[kind] === highest[kind];
  return { constant: plugins.filter(isConstant), telling: plugins.filter((plugin) => !isConstant(plugin)) };
}

/** Of two, by one thing: a plugin, a figure, a reason. */
export interface Difference {
  readonly what: string;
  readonly left: number | string;
  readonly right: number | string;
  readonly more: number | null; // null where they are no figures
}

/** What each plugin gave two nodes, the greatest difference first; empty where one of them has no scores. */
export function differences(
  plugins: readonly ScorePlugin[],
  left: MatrixNode,
  right: MatrixNode,
  kind: ScoreKind,
): readonly Difference[] {
  return plugins
    .flatMap(({ name }) => {
      const [mine, other] = [left.scores[name]?.[kind], right.scores[name]?.[kind]];
      return mine === undefined || other === undefined
        ? []
        : [{ what: name, left: mine, right: other, more: mine - other }];
    })
    .sort((a, b) => Math.abs(b.more) - Math.abs(a.more));
}

export const signed = (value: number): string =>
  value ? `${value > 0 ? "+" : "−"}${i18n.number(Math.abs(value))}` : "0";
