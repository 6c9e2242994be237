/** Lists that the service gives page by page: each names the address of the next. */
import type { PageQuery } from "../contract/api.gen";

/** All of a list, following its pages. */
export async function all<Row>(
  read: (page: PageQuery) => Promise<{ readonly results: readonly Row[]; readonly next: string | null }>,
): Promise<readonly Row[]> {
  const found: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof read>> = await read(pageAt(cursor));
    found.push(...page.results);
    cursor = cursorOf(page.next);
  } while (cursor !== null);
  return found;
}

/** The cursor in the address of another page, whatever name the service gives its host. */
export function cursorOf(address: string | null): string | null {
  return address === null ? null : new URL(address, location.href).searchParams.get("cursor");
}

export function pageAt(cursor: string | null): PageQuery {
  return cursor === null ? {} : { cursor };
}
