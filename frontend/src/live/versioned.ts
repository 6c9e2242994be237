/**
 * Maps of which every version stays as it was, though the next one is made of it without a copy.
 *
 * The newest version has all entries. The one before it has what was otherwise in it, and asks the newer one for the rest:
 * a version costs as much as is changed, and the newest is read like any map. To go through an older one, or to make a
 * second version of it, costs a copy. No version knows an older one, which is free to go when nobody holds it.
 */
const MOST = 100; // versions that share: whoever holds one holds those after it as well

export class VersionedMap<V> implements ReadonlyMap<string, V> {
  private all: Map<string, V>;
  private newer: VersionedMap<V> | null = null; // which has taken `all` over
  private had = new Map<string, V | undefined>(); // what the newer one has changed; undefined: there was nothing
  private count = 0; // entries, once there is a newer one
  private told: Map<string, V | undefined> | null = null; // what the version before had, for it to know
  private age = 0; // versions before it that share with it

  /** The next version of that map, which stays as it is. */
  constructor(before: ReadonlyMap<string, V>) {
    if (!(before instanceof VersionedMap) || before.newer || before.age === MOST) {
      this.all = new Map(before);
      return;
    }
    this.age = before.age + 1;
    this.all = before.all;
    this.told = before.had = new Map();
    before.count = before.all.size;
    before.newer = this;
    before.told = null;
  }

  /** For whoever made this version, before others have it. */
  set(key: string, value: V): void {
    this.tell(key);
    this.all.set(key, value);
  }

  /** The same. */
  delete(key: string): void {
    this.tell(key);
    this.all.delete(key);
  }

  get size(): number {
    return this.newer ? this.count : this.all.size;
  }

  get(key: string): V | undefined {
    let version: VersionedMap<V> = this;
    while (version.newer) {
      if (version.had.has(key)) return version.had.get(key);
      version = version.newer;
    }
    return version.all.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  forEach(call: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.whole()) call(value, key, this);
  }

  entries(): MapIterator<[string, V]> {
    return this.whole().entries();
  }

  keys(): MapIterator<string> {
    return this.whole().keys();
  }

  values(): MapIterator<V> {
    return this.whole().values();
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.whole().entries();
  }

  private tell(key: string): void {
    if (this.told && !this.told.has(key)) this.told.set(key, this.all.get(key));
  }

  /** All entries, for which an older version makes a map of its own. */
  private whole(): Map<string, V> {
    if (!this.newer) return this.all;
    const changes: Map<string, V | undefined>[] = [];
    let version: VersionedMap<V> = this;
    for (; version.newer; version = version.newer) changes.push(version.had);
    const whole = new Map(version.all);
    for (const had of changes.reverse()) {
      for (const [key, value] of had) {
        if (value === undefined) whole.delete(key);
        else whole.set(key, value);
      }
    }
    this.all = whole;
    this.newer = null;
    return whole;
  }
}
