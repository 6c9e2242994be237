/** The rows of the search, in groups: what the service found, what was opened last, what only the browser knows. */
import type { SearchAnswer, SearchHit } from "../../contract/api.gen";
import { keyOf, type Opened } from "../../lib/found";
import { HOWS, type How, type Marks, match } from "../../lib/ranking";
import type { Entry } from "./actions";

export type Row = { readonly id: string; readonly name: string; readonly marks: Marks } & (
  | { readonly hit: SearchHit; readonly opened?: never; readonly entry?: never }
  | { readonly opened: Opened; readonly hit?: never; readonly entry?: never }
  | { readonly entry: Entry; readonly hit?: never; readonly opened?: never }
);

export interface Group {
  readonly kind: SearchHit["kind"] | Entry["kind"] | "opened";
  readonly rows: readonly Row[];
  readonly more: boolean;
}

const FEW = 6; // views and actions below what was found by name

/**
 * The group with the best match first, of equal ones deleted pods (`gone`) last; below all others when they are late, or
 * still those of other letters. Without a word: what was opened last, what was made last, then the rest.
 */
export function groupsOf(
  word: string,
  answer: SearchAnswer | undefined,
  opened: readonly Opened[],
  entries: readonly Entry[],
  gone?: SearchAnswer,
  isLate = false,
): readonly Group[] {
  const asked = word.trim();
  const groups: { group: Group; rank: number }[] = [];
  const add = (group: Group, how: How) => {
    if (group.rows.length) groups.push({ group, rank: asked ? HOWS.indexOf(how) : 0 });
  };
  const hits = (answer: SearchAnswer | undefined, place?: How) => {
    for (const { kind, hits, more } of answer?.groups ?? []) {
      const rows = hits.map((hit) => ({ id: keyOf(hit), name: hit.name, marks: hit.marks, hit }));
      add({ kind, rows, more }, place ?? hits[0]?.how ?? "parts");
    }
  };
  if (!asked) {
    const rows = opened.map((one) => ({ id: `opened ${keyOf(one)}`, name: one.name, marks: [], opened: one }));
    add({ kind: "opened", rows, more: false }, "exact");
  }
  hits(answer);
  for (const kind of ["view", "action"] as const) {
    const matched = entries
      .filter((entry) => entry.kind === kind)
      .flatMap((entry) => {
        const found = match(word, entry.name);
        return found ? [{ entry, ...found }] : [];
      })
      .sort((a, b) => HOWS.indexOf(a.how) - HOWS.indexOf(b.how));
    const rows = matched.slice(0, FEW).map(({ entry, marks }) => ({ id: entry.id, name: entry.name, marks, entry }));
    add({ kind, rows, more: false }, matched[0]?.how ?? "parts");
  }
  hits(gone, isLate ? "parts" : undefined);
  return groups.sort((a, b) => a.rank - b.rank).map(({ group }) => group);
}
