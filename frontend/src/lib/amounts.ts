/** What was asked of nodes and what there was, in sentences, with the nodes and pods they name to be linked to. */
import type { Amounts, PendingAmounts } from "../contract/api.gen";
import { i18n, type TextKey, t } from "../i18n/index.svelte";
import { bytes, quantity } from "./format";

/** Text, with `href` a link with that text; a node; a pod. */
export type Part =
  | { readonly text: string; readonly href?: string }
  | { readonly node: string }
  | { readonly pod: string };
export type Sentence = readonly Part[];

/** The sentences about what attempts kept of one subject, of all nodes it is about. */
export function sentencesOf(about: Amounts): readonly Sentence[] {
  const found = [main(about)];
  if (about.only && about.kind === "resource" && about.nearest !== null && about.asked !== null) {
    const [lack = ""] = quantities(about.subject, [about.asked - about.nearest]);
    const key = about.only === 1 ? "amounts.onlyOne" : "amounts.only";
    found.push(linked(key, about, { lack, node: { node: about.nearest_node } }));
  } else if (about.only && (about.kind === "pods" || about.kind === "label")) {
    found.push(linked("amounts.nothingElse", about, {}));
  }
  return found;
}

/** What pending pods ask of one subject, and the sentence about the one that comes nearest. */
export function askedBy({ pods, pod, asked_least, asked_most, amounts }: PendingAmounts): Sentence {
  if (pods === 1) return [...sentence("pending.one", { pod: { pod } }), ...main(amounts)];
  if (asked_least === null || asked_most === null || asked_least === asked_most)
    return [...sentence("pending.several", { pods, pod: { pod } }), ...main(amounts)];
  const [least = "", most = ""] = quantities(amounts.subject, [asked_least, asked_most]);
  return [...sentence("pending.span", { pods, least, most, pod: { pod } }), ...main(amounts)];
}

/** The sentence about one subject of a single node. */
export function sentenceOnNode(about: Amounts): Sentence {
  switch (about.kind) {
    case "resource":
      return linked(hasNone(about) ? "amounts.one.none" : "amounts.one.resource", about, amountsOf(about));
    case "pods":
      return linked("amounts.one.pods", about, { capacity: about.capacity ?? 0 });
    case "taint":
      return linked("amounts.one.taint", about, {});
    case "cordon":
      return linked("amounts.one.cordon", about, {});
    case "label": {
      // A value, none, or the name of the node, which stands beside it.
      const [found] = about.values;
      if (!found && !about.without) return linked("amounts.one.name", about, {});
      return linked("amounts.one.label", about, { value: found ? found.value || '""' : t("amounts.one.without") });
    }
    case "port":
      return about.pod ? linked("amounts.one.port", about, { pod: { pod: about.pod } }) : main(about);
    default:
      return main(about);
  }
}

/** The same where it stands by itself, as a sentence. What begins with a name is left as it is. */
export function sentenceAlone(about: Amounts): Sentence {
  const [first, ...rest] = sentenceOnNode(about);
  const isName = about.kind === "taint" || !first || !("text" in first);
  return isName ? sentenceOnNode(about) : [{ ...first, text: capital(first.text) }, ...rest];
}

const capital = (text: string): string => text.slice(0, 1).toLocaleUpperCase() + text.slice(1);

/** One node is named; several are counted, and one of them is named. */
function main(about: Amounts): Sentence {
  const node = { node: about.node };
  const isOne = about.nodes === 1;
  switch (about.kind) {
    case "resource": {
      const key = hasNone(about) ? "amounts.none" : "amounts.resource";
      return linked(isOne ? `${key}One` : key, about, { ...amountsOf(about), node });
    }
    case "pods":
      return linked("amounts.pods", about, { node, capacity: about.capacity ?? 0 });
    case "taint":
      return linked("amounts.taint", about, { node });
    case "cordon":
      return linked("amounts.cordon", about, { node });
    case "label": {
      const values = valuesOf(about);
      return values ? linked("amounts.label", about, { values }) : linked("amounts.name", about, {});
    }
    case "port":
      return about.pod
        ? linked(isOne ? "amounts.portOne" : "amounts.port", about, { node, pod: { pod: about.pod } })
        : linked("amounts.portOfNobody", about, { node });
    case "spread":
      return linked("amounts.spread", about, {
        asked: about.asked ?? 0,
        there: about.there ?? 0,
        values: valuesOf(about),
      });
    case "noKey":
      return linked("amounts.noKey", about, { node });
    case "near":
      return linked("amounts.near", about, { node, there: about.there ?? 0 });
    case "apart":
    case "keptApart":
      return linked(isOne ? `amounts.${about.kind}One` : `amounts.${about.kind}`, about, {
        node,
        pod: about.pod ? { pod: about.pod } : t("amounts.somebody"),
      });
    case "volume":
      return linked("amounts.volume", about, { node });
    case "limit":
      return linked("amounts.limit", about, {
        node,
        asked: about.asked ?? 0,
        there: Math.max(0, about.there ?? 0),
        capacity: about.capacity ?? 0,
      });
    case "disk":
      return linked(isOne ? "amounts.diskOne" : "amounts.disk", about, { node, pod: { pod: about.pod } });
    case "claim":
      return linked("amounts.claim", about, { pod: { pod: about.pod } });
  }
}

/** Asked, free and all there is, so that what differs looks different. Of what is overcommitted nothing is free. */
export function amountsOf(about: Amounts): {
  readonly asked: string;
  readonly there: string;
  readonly capacity: string;
} {
  const [asked = "", there = "", capacity = ""] = quantities(about.subject, [
    about.asked ?? 0,
    Math.max(0, about.there ?? 0),
    about.capacity ?? 0,
  ]);
  return { asked, there, capacity };
}

/** The node has nothing of it, so that there is nothing to be free. */
const hasNone = ({ capacity, there }: Amounts): boolean => !capacity && (there ?? 0) <= 0;

const MOST_DIGITS = 4;
const EXACT = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** Amounts of a resource: exact for cpu and what is counted, bytes with as many digits as tell them apart. */
export function quantities(resource: string, values: readonly number[]): readonly string[] {
  if (resource === "cpu")
    return values.map((milli) => (Math.abs(milli) < 1000 && milli ? `${milli}m` : EXACT.format(milli / 1000)));
  const isBytes = quantity(resource, values[0] ?? 0) === bytes(values[0] ?? 0);
  if (!isBytes) return values.map((value) => i18n.number(value));
  for (const digits of [undefined, 2, 3, MOST_DIGITS]) {
    const texts = values.map((value) => bytes(value, digits));
    if (new Set(texts).size === new Set(values).size) return texts;
  }
  return values.map((value) => `${i18n.number(value)} B`);
}

function valuesOf(about: Amounts): string {
  const found = about.values.map(({ value, count }) => `${value || '""'} (${i18n.number(count)})`);
  if (about.others) found.push(t("amounts.moreValues", { count: about.others }));
  if (about.without) found.push(t("amounts.without", { count: about.without }));
  return found.join(", ");
}

// Stands in a text for a value that becomes a link.
const MARK = "\u0000";

type Values = Readonly<Record<string, string | number | Part>>;

function linked(key: TextKey, about: Amounts, values: Values): Sentence {
  const where = about.nodes === 1 ? "amounts.where.one" : "amounts.where.more";
  return sentence(key, { subject: about.subject, nodes: about.nodes, only: about.only, ...values }, { where });
}

/** A text of the dashboard in which values that are a node or a pod become links; `phrases` are texts within it. */
export function sentence(key: TextKey, values: Values, phrases: Readonly<Record<string, TextKey>> = {}): Sentence {
  const links: Part[] = [];
  const texts: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "object") {
      texts[name] = `${MARK}${links.length}${MARK}`;
      links.push(value);
    } else texts[name] = value;
  }
  for (const [name, phrase] of Object.entries(phrases)) texts[name] = t(phrase, texts);
  return t(key, texts)
    .split(MARK)
    .map((text, place) => (place % 2 ? (links[Number(text)] ?? { text }) : { text }))
    .filter((part) => !("text" in part) || part.text);
}
