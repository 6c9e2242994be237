/**
 * What an import is given: files, and folders, of which the manifests go along in one archive, as `./ksched import`
 * packs them. Rules and limits are those of the command; `given.cases.json` holds both to the same ones.
 */
import { t } from "../i18n/index.svelte";
import { bytes } from "./format";
import { type Member, tarOf } from "./tar";

/** What a page is brought: a folder stands for all that is in it. */
export type Brought = File | FileSystemDirectoryEntry;

/** A folder's files that are read, with their paths in it, and how many are not. */
export interface Folder {
  readonly name: string;
  readonly files: readonly (readonly [path: string, file: File])[];
  readonly size: number;
  readonly passedOver: number;
}

/** One part of an import. */
export type Part = File | Folder;

export const MOST_FILES = 20_000;
export const MOST_BYTES = 256 * 1024 * 1024;
const AT_ONCE = 500;
// macOS writes a file that begins so beside each of its own into archives.
const READ = /^(?!\._).*\.(?:(?:ya?ml|json)(?:\.gz)?|tar|tar\.gz|tgz)$/i;

/** Whether a file of this name in a folder goes along. */
export const isRead = (name: string): boolean => READ.test(name);

export const isFolder = (part: Part): part is Folder => "files" in part;

/** Of all parts together. */
export const passedOver = (parts: readonly Part[]): number =>
  parts.reduce((count, part) => count + (isFolder(part) ? part.passedOver : 0), 0);

/** What a drop brings, which can be asked only while its event is handled. */
export function broughtBy(drop: DataTransfer | null): readonly Brought[] {
  const items = [...(drop?.items ?? [])].filter((item) => item.kind === "file");
  return items.flatMap((item): Brought[] => {
    const entry = item.webkitGetAsEntry?.();
    if (entry?.isDirectory) return [entry as FileSystemDirectoryEntry];
    const file = item.getAsFile();
    return file ? [file] : [];
  });
}

/**
 * All that is in a folder, read piece by piece; the page stays alive meanwhile. `tell` hears how many files were found
 * so far, and answers whether to go on: null where it did not.
 */
export async function readFolder(
  entry: FileSystemDirectoryEntry,
  tell: (files: number) => boolean,
): Promise<Folder | null> {
  const found = new Collected(entry.name);
  const waiting = [{ entry, path: "" }];
  for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
    const { path } = folder;
    const entries = await entriesOf(folder.entry, () => tell(found.count));
    if (entries === null) return null;
    const inside = entries.filter((each) => each.isFile) as FileSystemFileEntry[];
    for (let start = 0; start < inside.length; start += AT_ONCE) {
      const some = inside.slice(start, start + AT_ONCE);
      const files = await Promise.all(some.map((each) => (isRead(each.name) ? fileOf(each) : null)));
      for (const [index, file] of files.entries()) found.add(path + some[index]?.name, file);
    }
    const folders = entries.filter((each) => each.isDirectory) as FileSystemDirectoryEntry[];
    waiting.push(...folders.reverse().map((each) => ({ entry: each, path: `${path}${each.name}/` })));
  }
  return found.folder();
}

/** Files of a folder that was chosen; their paths begin with its name. */
export function chosenFolder(files: readonly File[]): Folder | null {
  const first = files[0]?.webkitRelativePath.split("/")[0];
  if (first === undefined) return null;
  const found = new Collected(first);
  for (const file of files) found.add(file.webkitRelativePath.slice(first.length + 1), isRead(file.name) ? file : null);
  return found.folder();
}

/** A part as the file that is sent. */
export async function packed(part: Part): Promise<File> {
  if (!isFolder(part)) return part;
  const tar = tarOf(part.files satisfies readonly Member[]);
  const sent = typeof CompressionStream === "undefined" ? tar : await gzipped(tar);
  return new File([sent], part.name);
}

function gzipped(content: Blob): Promise<Blob> {
  return new Response(content.stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

class Collected {
  count = 0;
  private readonly files: [string, File][] = [];
  private size = 0;

  constructor(private readonly name: string) {}

  /** Takes a file, or counts one that is not read; an Error where there are too many. */
  add(path: string, file: File | null): void {
    this.count += 1;
    if (!file) return;
    this.size += file.size;
    this.files.push([path, file]);
    if (this.files.length > MOST_FILES || this.size > MOST_BYTES)
      throw new Error(t("import.folder.tooLarge", { name: this.name, files: MOST_FILES, bytes: bytes(MOST_BYTES) }));
  }

  folder(): Folder {
    if (!this.files.length) throw new Error(t("import.folder.empty", { name: this.name }));
    const { name, files, size } = this;
    return { name, files, size, passedOver: this.count - files.length };
  }
}

/** What a folder holds, by name; null where it need not be known any more. Browsers tell a hundred at a time. */
async function entriesOf(
  folder: FileSystemDirectoryEntry,
  goOn: () => boolean,
): Promise<readonly FileSystemEntry[] | null> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!goOn()) return null;
    if (!some.length) return found.sort((one, other) => (one.name < other.name ? -1 : 1));
    found.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
