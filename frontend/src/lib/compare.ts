/** Two nodes of an attempt side by side, and which plugins told nodes apart at all. */
import type { MatrixNode, ScorePlugin } from "../contract/api.gen";

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

export interface Difference {
  readonly plugin: string;
  readonly left: number;
  readonly right: number;
  readonly more: number; // of the left one
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
        : [{ plugin: name, left: mine, right: other, more: mine - other }];
    })
    .sort((a, b) => Math.abs(b.more) - Math.abs(a.more));
}

export const signed = (value: number): string => (value > 0 ? `+${value}` : value < 0 ? `−${-value}` : "0");
