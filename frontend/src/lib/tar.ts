/** Tar archives of files, composed without reading them: a name that a header has no room for stands in a pax record. */

const BLOCK = 512;
const NAME_BYTES = 100;
const text = new TextEncoder();

export type Member = readonly [path: string, content: Blob];

/** The files in an archive, in their order. */
export function tarOf(members: readonly Member[]): Blob {
  const parts = members.flatMap(([path, content]) => [...headersOf(path, content.size), content, fillOf(content.size)]);
  return new Blob([...parts, new Uint8Array(2 * BLOCK)]);
}

function headersOf(path: string, size: number): Uint8Array<ArrayBuffer>[] {
  const name = text.encode(path);
  const header = headerOf(name.slice(0, NAME_BYTES), size, "0");
  if (name.length <= NAME_BYTES) return [header];
  const record = recordOf("path", path);
  return [headerOf(text.encode("path"), record.length, "x"), record, fillOf(record.length), header];
}

function headerOf(name: Uint8Array, size: number, type: string): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(BLOCK);
  header.set(name);
  const put = (at: number, field: string) => header.set(text.encode(field), at);
  put(100, "0000644\0");
  put(108, "0000000\0"); // the owner and the group
  put(116, "0000000\0");
  put(124, `${size.toString(8).padStart(11, "0")}\0`);
  put(136, "00000000000\0"); // when it was changed: the same files make the same archive
  put(148, " ".repeat(8)); // the checksum counts as blanks in itself
  put(156, type);
  put(257, "ustar\x0000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return header;
}

/** `LENGTH KEY=VALUE`, where the length is that of the record, its own digits included. */
function recordOf(key: string, value: string): Uint8Array<ArrayBuffer> {
  const rest = text.encode(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (rest.length + String(length).length !== length) length = rest.length + String(length).length;
  return text.encode(`${length} ${key}=${value}\n`);
}

/** Zeros up to the next block. */
function fillOf(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
