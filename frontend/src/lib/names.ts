/** Names where there is little room: they differ at their ends, and many begin alike. */

const LEAST = 6; // letters at the end of a name that are never cut
const MOST = 12;
const SEPARATOR = /[-._/]/;

/** A name in two parts, of which the first may be cut: the second is its last word, if that is neither short nor long. */
export function partsOfName(name: string): { readonly start: string; readonly end: string } {
  let at = Math.max(0, name.length - LEAST);
  for (let place = at; place > 0 && place >= name.length - MOST; place -= 1) {
    if (!SEPARATOR.test(name[place] ?? "")) continue;
    at = place;
    break;
  }
  return { start: name.slice(0, at), end: name.slice(at) };
}

/** How many letters all of these begin with, in whole words: up to a separator. */
export function sharedStart(names: readonly string[]): number {
  const [first = "", ...others] = names;
  if (!others.length) return 0;
  let shared = 0;
  for (let place = 0; place < first.length && others.every((name) => name[place] === first[place]); place += 1) {
    if (SEPARATOR.test(first[place] ?? "")) shared = place + 1;
  }
  return shared;
}

/** The text as it fits: whole, without what it shares with others at its start, or with as much of its end as fits. */
export function fitted(text: string, shared: number, fits: (text: string) => boolean): string {
  if (fits(text)) return text;
  let from = Math.max(1, shared);
  while (from < text.length - 1 && !fits(`…${text.slice(from)}`)) from += 1;
  return `…${text.slice(from)}`;
}
