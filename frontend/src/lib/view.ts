/**
 * Addresses with typed parameters, and the views they open.
 *
 * A path names its parameters `:name`. What stands in brackets at its end may be left out; its parameters are null then.
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
      const rest = read(needed, hash.replace("#", "").split("/").slice(1), found);
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

export interface View<Values> extends Address<Values> {
  readonly open: (hash: string) => Opened | null;
}

export function view<Values extends object>({
  path,
  params,
  load,
}: {
  readonly path: string;
  readonly params: Params<Values>;
  readonly load: () => Promise<{ readonly default: Component<{ live: State } & NoInfer<Values>> }>;
}): View<Values> {
  const own = address(path, params);
  const short = address(path.split("[")[0] ?? "", params);
  return {
    ...own,
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
