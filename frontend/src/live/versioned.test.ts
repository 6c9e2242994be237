import { describe, expect, it } from "vitest";
import { VersionedMap } from "./versioned";

const START = new Map([
  ["a", 1],
  ["b", 2],
]);

/** Versions of that map, each with a change more: c comes, a changes, b goes, b comes again. */
function versions(): readonly VersionedMap<number>[] {
  const found = [new VersionedMap(START)];
  const next = (change: (map: VersionedMap<number>) => void): void => {
    const made = new VersionedMap(found.at(-1) ?? START);
    change(made);
    found.push(made);
  };
  next((map) => map.set("c", 3));
  next((map) => map.set("a", 10));
  next((map) => map.delete("b"));
  next((map) => {
    map.set("b", 20);
    map.set("b", 21);
  });
  return found;
}

const WANTED = [
  { a: 1, b: 2 },
  { a: 1, b: 2, c: 3 },
  { a: 10, b: 2, c: 3 },
  { a: 10, c: 3 },
  { a: 10, b: 21, c: 3 },
];

describe("versions of a map", () => {
  it.each(WANTED.map((want, place) => [place, want] as const))(
    "%d is read as it was when it was the newest",
    (place, want) => {
      const map = versions()[place] as VersionedMap<number>;
      expect(map.size).toBe(Object.keys(want).length);
      for (const key of ["a", "b", "c"]) {
        expect(map.get(key)).toBe(want[key as keyof typeof want]);
        expect(map.has(key)).toBe(key in want);
      }
      expect(Object.fromEntries(map)).toEqual(want);
      expect([...map.keys()].sort()).toEqual(Object.keys(want).sort());
      expect([...map.values()].sort()).toEqual(Object.values(want).sort());
      const each: [string, number][] = [];
      map.forEach((value, key) => {
        each.push([key, value]);
      });
      expect(Object.fromEntries(each)).toEqual(want);
    },
  );

  it("are as they were whichever was gone through first", () => {
    const all = versions();
    for (const place of [2, 0, 4, 1, 3]) expect(Object.fromEntries(all[place] ?? [])).toEqual(WANTED[place]);
  });

  it("can be made of an older one, and leave the others alone", () => {
    const all = versions();
    const other = new VersionedMap(all[1] as VersionedMap<number>);
    other.set("d", 4);
    other.delete("a");
    expect(Object.fromEntries(other)).toEqual({ b: 2, c: 3, d: 4 });
    expect(all.map((map) => Object.fromEntries(map))).toEqual(WANTED);
  });

  it("keep the order in which entries came", () => {
    expect([...(versions().at(-1) as VersionedMap<number>).keys()]).toEqual(["a", "c", "b"]);
  });

  it("stay as they were however many come after them", () => {
    const first = new VersionedMap(START);
    let last = first;
    for (let version = 1; version <= 250; version += 1) {
      last = new VersionedMap(last);
      last.set("a", version);
    }
    expect(Object.fromEntries(first)).toEqual({ a: 1, b: 2 });
    expect(Object.fromEntries(last)).toEqual({ a: 250, b: 2 });
  });

  it("hang together by a hundred at most: whoever holds one holds those after it", () => {
    const first = new VersionedMap(START);
    for (let last = first, made = 0; made < 250; made += 1) last = new VersionedMap(last);
    const newerThan = (map: VersionedMap<number>) => Reflect.get(map, "newer") as VersionedMap<number> | null;
    let count = 0;
    for (let version = newerThan(first); version; version = newerThan(version)) count += 1;
    expect(count).toBe(100);
  });

  it("leave the map they were made of alone", () => {
    versions();
    expect([...START]).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
  });
});
