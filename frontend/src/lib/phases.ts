/** The phases of a scheduling cycle. */

/** In the order of a cycle. */
export const PHASES = [
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
  const place = (phase: string): number => (PHASES.includes(phase) ? PHASES.indexOf(phase) : PHASES.length);
  return Object.fromEntries(Object.entries(durations).sort(([a], [b]) => place(a) - place(b)));
}
