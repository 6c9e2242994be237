/**
 * Addresses with typed parameters, and the views they open.
 *
 * A path names its parameters `:name`. What stands in brackets at its end may be left out; its parameters are null then.
 * After a `?` stand the settings of what is on the screen (filters, order, tab, span), each left out while it is as at first.
 */
import type { Component } from "svelte";
import type { State } from "../live/state";

/** How a parameter is written in an address: in so many segments. */
export interface Param<Value> {
  readonly segments: number;
  /** Null: it is none. */
  readonly read: (segments: readonly string[]) => Value | null;
  readonly write: (value: Value) => string;
}

export const text: Param<string> = { segments: 1, read: joined, write: encodeURIComponent };
/** namespace/name */
export const objectKey: Param<string> = {
  segments: 2,
  read: joined,
  write: (key) => key.split("/").map(encodeURIComponent).join("/"),
};
export const whole: Param<number> = {
  segments: 1,
  read: ([digits = ""]) =>
    String(Number(digits)) === digits && Number.isSafeInteger(Number(digits)) ? Number(digits) : null,
  write: String,
};

export function optional<Value>(param: Param<Value>): Param<Value | null> {
  return { ...param, write: (value) => (value === null ? "" : param.write(value)) };
}

/** A setting of a view: how it is written, and what it is while the address does not name it. */
export interface Setting<Value> {
  readonly initial: Value;
  /** Null: it is none. */
  readonly read: (written: string) => Value | null;
  readonly write: (value: Value) => string;
}

export type Settings<Values> = { readonly [Name in keyof Values]: Setting<Values[Name]> };

/** One of several words; the first is the initial one. */
export function oneOf<const Word extends string>(...words: readonly [Word, ...Word[]]): Setting<Word> {
  return {
    initial: words[0],
    read: (written) => words.find((word) => word === written) ?? null,
    write: (word) => word,
  };
}

/** Any text. */
export function words(initial = ""): Setting<string> {
  return { initial, read: (written) => written, write: (value) => value };
}

/** Whether something is shown. */
export const flag: Setting<boolean> = {
  initial: false,
  read: (written) => (written === "yes" ? true : null),
  write: () => "yes",
};

/** A place in a list that is read in pages. */
export const place: Setting<number> = {
  initial: 0,
  read: (written) => Math.max(0, whole.read([written]) ?? 0),
  write: String,
};

/** The settings in an address; what is missing or none is as at first. */
export function settingsIn<Values extends object>(settings: Settings<Values>, hash: string): Values {
  const given = new URLSearchParams(partsOf(hash).settings);
  const entries = namesOf(settings).map((name) => {
    const written = given.get(String(name));
    const { initial, read } = settings[name];
    return [name, (written === null ? null : read(written)) ?? initial];
  });
  return Object.fromEntries(entries) as Values;
}

/** The address with some settings changed; all others stay, also those of other views. */
export function withSettings<Values extends object>(
  settings: Settings<Values>,
  changes: Partial<NoInfer<Values>>,
  hash: string,
): string {
  const { path, settings: written } = partsOf(hash);
  const given = new URLSearchParams(written);
  for (const name of namesOf(settings)) {
    const value = changes[name];
    if (value === undefined) continue;
    if (value === settings[name].initial) given.delete(String(name));
    else given.set(String(name), settings[name].write(value));
  }
  return joinedParts(path, given);
}

/** A view, as far as this matters to what stays when a link is followed. */
export interface Staying {
  readonly open: (hash: string) => { readonly identity: string } | null;
  readonly stays: readonly string[];
}

/** The address of a link as it is followed: settings that stay come along while their view does, but for those it has empty. */
export function followed(views: readonly Staying[], from: string, to: string): string {
  const [before, { path, settings }] = [new URLSearchParams(partsOf(from).settings), partsOf(to)];
  const given = new URLSearchParams(settings);
  for (const view of views) {
    const [left, entered] = [view.open(from), view.open(to)];
    if (!left || left.identity !== entered?.identity) continue;
    for (const name of view.stays) {
      const value = before.get(name);
      if (given.get(name) === "") given.delete(name);
      else if (value !== null && !given.has(name)) given.set(name, value);
    }
  }
  return joinedParts(path, given);
}

function partsOf(hash: string): { readonly path: string; readonly settings: string } {
  const at = hash.indexOf("?");
  return at < 0 ? { path: hash, settings: "" } : { path: hash.slice(0, at), settings: hash.slice(at + 1) };
}

function joinedParts(path: string, settings: URLSearchParams): string {
  return settings.size ? `${path || "#"}?${settings}` : path;
}

function namesOf<Values extends object>(settings: Settings<Values>): readonly (keyof Values)[] {
  return Object.keys(settings) as (keyof Values)[];
}

type Params<Values> = { readonly [Name in keyof Values]: Param<Values[Name]> };

export interface Address<Values> {
  readonly href: (values: Values) => string;
  /** The parameters in an address that begins with this path; null when it does not. */
  readonly match: (hash: string) => Values | null;
}

export function address<Values extends object>(path: string, params: Params<Values>): Address<Values> {
  const [needed = "", more = ""] = path.replace("]", "").split("[");

  /** Reads the parameters of a part of the path into `found`; the segments after it, or null. */
  function read(part: string, given: readonly string[], found: Partial<Values>): readonly string[] | null {
    let rest = given;
    for (const segment of part.split("/").slice(1)) {
      const name = nameIn(segment);
      const count = name === null ? 1 : params[name].segments;
      const own = rest.slice(0, count);
      rest = rest.slice(count);
      if (own.length < count || own.includes("")) return null;
      if (name === null) {
        if (own[0] !== segment) return null;
        continue;
      }
      const value = params[name].read(own);
      if (value === null) return null;
      found[name] = value;
    }
    return rest;
  }

  function nameIn(segment: string): keyof Values | null {
    return segment.startsWith(":") ? (segment.slice(1) as keyof Values) : null;
  }

  function written(part: string, values: Values): string {
    const words = part.split("/").map((segment) => {
      const name = nameIn(segment);
      return name === null ? segment : params[name].write(values[name]);
    });
    return words.join("/");
  }

  return {
    href: (values) => {
      const isWhole = more.split("/").every((segment) => {
        const name = nameIn(segment);
        return name === null || values[name] !== null;
      });
      return `#${written(needed, values)}${isWhole ? written(more, values) : ""}`;
    },
    match: (hash) => {
      const found: Partial<Values> = {};
      const rest = read(needed, partsOf(hash).path.replace("#", "").split("/").slice(1), found);
      if (rest === null) return null;
      const absent = Object.fromEntries(Object.keys(params).map((name) => [name, null]));
      const further: Partial<Values> = {};
      return { ...absent, ...found, ...(read(more, rest, further) === null ? {} : further) } as Values;
    },
  };
}

/** A view as an address opened it. */
export interface Opened {
  /** The address without what may be left out: while it is the same, the view stays and only its parameters change. */
  readonly identity: string;
  readonly values: object;
  readonly load: () => Promise<{ readonly default: Component<{ live: State }> }>;
}

export interface View<Values, Shown = object> extends Address<Values>, Staying {
  readonly open: (hash: string) => Opened | null;
  readonly settings: Settings<Shown>;
}

/**
 * `settings`: what stands after the `?`. `stays`: names of those that stay when a link leads to the same view with other
 * parameters in brackets, as to another attempt at the same pod.
 */
export function view<Values extends object, Shown extends object = Record<never, never>>({
  path,
  params,
  settings,
  stays = [],
  load,
}: {
  readonly path: string;
  readonly params: Params<Values>;
  readonly settings?: Settings<Shown>;
  readonly stays?: readonly (keyof Shown & string)[];
  readonly load: () => Promise<{ readonly default: Component<{ live: State } & NoInfer<Values>> }>;
}): View<Values, Shown> {
  const own = address(path, params);
  const short = address(path.split("[")[0] ?? "", params);
  return {
    ...own,
    settings: settings ?? ({} as Settings<Shown>),
    stays,
    open: (hash) => {
      const values = own.match(hash);
      // Only here is it known that these values are the component's.
      return values && { identity: short.href(values), values, load: load as unknown as Opened["load"] };
    },
  };
}

/** The first of the views that the address opens; null: none. */
export function openedBy(views: readonly { readonly open: View<never>["open"] }[], hash: string): Opened | null {
  for (const one of views) {
    const opened = one.open(hash);
    if (opened) return opened;
  }
  return null;
}

function joined(segments: readonly string[]): string {
  return segments.map(decode).join("/");
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
