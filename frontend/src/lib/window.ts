/** Which rows of a long list are worth drawing. */

export interface Rows {
  readonly first: number;
  readonly end: number; // one past the last
}

export function visibleRows(count: number, rowHeight: number, scrollTop: number, height: number, spare = 4): Rows {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - spare);
  return { first: Math.min(first, count), end: Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + spare) };
}
