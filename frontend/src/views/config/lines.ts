/** Lines of a text that is being edited. */

/** Where a line begins and ends; lines count from 1. */
export function rangeOf(text: string, line: number): { from: number; to: number } {
  let from = 0;
  for (let at = 1; at < line; at++) {
    const end = text.indexOf("\n", from);
    if (end < 0) break;
    from = end + 1;
  }
  const to = text.indexOf("\n", from);
  return { from, to: to < 0 ? text.length : to };
}

/**
 * Where lines of a text are in what it was edited to: those before the first difference stay, those after the last one
 * move with the text, and one that was changed itself has no place any more (null).
 */
export function moved(before: string, after: string): (line: number) => number | null {
  if (before === after) return (line) => line;
  const [old, now] = [before.split("\n"), after.split("\n")];
  const most = Math.min(old.length, now.length);
  let same = 0;
  while (same < most && old[same] === now[same]) same++;
  let tail = 0;
  while (tail < most - same && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  return (line) => {
    if (line <= same) return line;
    return line > old.length - tail ? line + now.length - old.length : null;
  };
}
