/** The phases of a scheduling cycle. */

const ORDER = [
  "snapshot",
  "pre_filter",
  "filter",
  "extenders",
  "post_filter",
  "pre_score",
  "score",
  "reserve",
  "permit",
];

/** As they follow each other in a cycle; those it does not know come last. The service sends them in no order. */
export function inOrder(durations: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const place = (phase: string): number => (ORDER.includes(phase) ? ORDER.indexOf(phase) : ORDER.length);
  return Object.fromEntries(Object.entries(durations).sort(([a], [b]) => place(a) - place(b)));
}
