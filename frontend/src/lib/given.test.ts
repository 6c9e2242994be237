import { describe, expect, it } from "vitest";
import { broughtBy, chosenFolder, isRead, MOST_BYTES, MOST_FILES, packed, passedOver, readFolder } from "./given";
import cases from "./given.cases.json";
import { tarOf } from "./tar";

type Tree = { readonly [name: string]: Tree | string };

/** A folder as browsers give it: a hundred entries at a time, in no order. */
function folder(name: string, tree: Tree): FileSystemDirectoryEntry {
  const entries = Object.entries(tree).map(([each, content]) =>
    typeof content === "string" ? file(each, content) : folder(each, content),
  );
  const left = [...entries.reverse()];
  const createReader = () => ({ readEntries: (tell: (some: unknown[]) => void) => tell(left.splice(0, 100)) });
  return { name, isFile: false, isDirectory: true, createReader } as unknown as FileSystemDirectoryEntry;
}

const file = (name: string, content: string) => ({
  name,
  isFile: true,
  isDirectory: false,
  file: (tell: (file: File) => void) => tell(new File([content], name)),
});

const all = (entry: FileSystemDirectoryEntry) => readFolder(entry, () => true);

/** The files of an archive, read as tar says. */
async function members(archive: Blob): Promise<Record<string, string>> {
  const content = new Uint8Array(await archive.arrayBuffer());
  const text = (start: number, end: number) =>
    new TextDecoder().decode(content.slice(start, end)).replace(/\0.*$/s, "");
  const found: Record<string, string> = {};
  let path = "";
  for (let at = 0; content[at]; ) {
    const size = Number.parseInt(text(at + 124, at + 136), 8);
    const sum = content.slice(at, at + 512).reduce((total, byte) => total + byte, 0);
    const blanks = content.slice(at + 148, at + 156).reduce((total, byte) => total + byte, 0);
    expect(Number.parseInt(text(at + 148, at + 155), 8)).toBe(sum - blanks + 8 * 32);
    expect(text(at + 257, at + 262)).toBe("ustar");
    const inside = text(at + 512, at + 512 + size);
    if (text(at + 156, at + 157) === "x") {
      expect(inside.split(" ")[0]).toBe(String(size));
      path = /path=(.*)\n/.exec(inside)?.[1] ?? "";
    } else {
      found[path || text(at, at + 100)] = inside;
      path = "";
    }
    at += 512 * (1 + Math.ceil(size / 512));
  }
  return found;
}

describe("what of a folder is read", () => {
  it.each(cases.read)("%s", (name) => expect(isRead(name)).toBe(true));
  it.each(cases.passedOver)("not %s", (name) => expect(isRead(name)).toBe(false));

  it("has the limits of the command", () => {
    expect([MOST_FILES, MOST_BYTES]).toEqual([cases.files, cases.bytes]);
  });
});

describe("a folder", () => {
  const TREE = {
    "b.yaml": "b",
    README: "",
    d: { "c.json": "c", e: { "z.yml": "z" } },
    "a.yaml": "a",
    ".git": { HEAD: "" },
  };

  it("is all that is in it, a folder's files first", async () => {
    const found = await all(folder("dump", TREE));
    expect(found?.files.map(([path]) => path)).toEqual(["a.yaml", "b.yaml", "d/c.json", "d/e/z.yml"]);
    expect([found?.name, found?.size, found?.passedOver]).toEqual(["dump", 4, 2]);
    expect(passedOver([new File([], "x"), ...(found ? [found, found] : [])])).toBe(4);
  });

  it("is the same when it was chosen", () => {
    const paths = ["dump/a.yaml", "dump/README", "dump/d/c.json"];
    const files = paths.map((path) =>
      Object.assign(new File(["x"], path.split("/").at(-1) ?? ""), { webkitRelativePath: path }),
    );
    const found = chosenFolder(files);
    expect(found?.files.map(([path]) => path)).toEqual(["a.yaml", "d/c.json"]);
    expect([found?.name, found?.passedOver]).toEqual(["dump", 1]);
    expect(chosenFolder([])).toBeNull();
  });

  it("of many files is read piece by piece, and left when nobody wants it any more", async () => {
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, number) => [`${number}.yaml`, ""]));
    const heard: number[] = [];
    const found = await readFolder(folder("many", { a: many, b: {} }), (files) => heard.push(files) > 0);
    expect([found?.files.length, heard.at(-1)]).toEqual([3_000, 3_000]);
    expect(await readFolder(folder("many", { a: many }), () => false)).toBeNull();
  });

  it.each<[string, Tree, string]>([
    ["nothing", {}, "dump has no file *.yaml, *.yml or *.json, packed or not."],
    ["no manifest", { README: "x" }, "dump has no file *.yaml, *.yml or *.json, packed or not."],
  ])("with %s is refused", async (_, tree, message) => {
    await expect(all(folder("dump", tree))).rejects.toThrow(message);
  });

  it("with too much is refused", async () => {
    const many = Object.fromEntries(Array.from({ length: MOST_FILES + 1 }, (_, number) => [`${number}.yaml`, ""]));
    await expect(all(folder("dump", many))).rejects.toThrow("dump has more than 20,000 files or 256 MiB to import.");
  });

  it("is sent as an archive", async () => {
    const found = await all(folder("dump", TREE));
    if (!found) throw new Error("no folder");
    const sent = await packed(found);
    expect(sent.name).toBe("dump");
    const plain = await new Response(sent.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
    expect(await members(plain)).toEqual({ "a.yaml": "a", "b.yaml": "b", "d/c.json": "c", "d/e/z.yml": "z" });
    const one = new File(["x"], "x.yaml");
    expect(await packed(one)).toBe(one);
  });
});

describe("an archive", () => {
  it.each([
    ["a.yaml", "short"],
    ["n".repeat(100), "x".repeat(512)],
    [`${"n".repeat(101)}.yaml`, ""],
    [`${"名".repeat(40)}.yaml`, "long in bytes"],
    [`${"d/".repeat(500)}x.yaml`, "x".repeat(1_000)],
    [`${"n".repeat(83)}é.yaml`, "x"],
  ])("holds %s", async (path, content) => {
    const before = ["first.yaml", new Blob(["1"])] as const;
    expect(await members(tarOf([before, [path, new Blob([content])]]))).toEqual({ "first.yaml": "1", [path]: content });
  });
});

describe("a drop", () => {
  const item = (entry: unknown, file: File | null, kind = "file") => ({
    kind,
    webkitGetAsEntry: () => entry,
    getAsFile: () => file,
  });

  it("brings files and folders, and no text", () => {
    const one = new File(["x"], "x.yaml");
    const items = [
      item({ isDirectory: true, name: "d" }, null),
      item({ isDirectory: false }, one),
      item(null, one),
      item(null, null, "string"),
    ];
    const brought = broughtBy({ items } as unknown as DataTransfer);
    expect(brought.map((each) => each.name)).toEqual(["d", "x.yaml", "x.yaml"]);
    expect(broughtBy(null)).toEqual([]);
  });
});
