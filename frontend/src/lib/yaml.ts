/** A JSON value as block YAML, for reading: keys in their order, strings quoted only where they would read otherwise. */

const PLAIN = /^[A-Za-z0-9_./@%+-][A-Za-z0-9_./@%+:=, ()-]*$/;
const OTHER_MEANING = /^(?:true|false|null|yes|no|on|off|~|[-+.]?[0-9][0-9_.eExXoO+:-]*)$|^-|: | #|[: ]$/i;

export function toYaml(value: unknown): string {
  return `${block(value, "").replace(/^\n/, "")}\n`;
}

function block(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (!value.length) return " []";
    return value.map((item) => `\n${indent}-${inItem(item, `${indent}  `)}`).join("");
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (!entries.length) return " {}";
    return entries
      .map(
        ([key, inner]) =>
          `\n${indent}${scalar(key)}:${block(inner, typeof inner === "object" && inner !== null && !Array.isArray(inner) ? `${indent}  ` : indent)}`,
      )
      .join("");
  }
  return ` ${scalar(value)}`;
}

/** The first key of a map stands on the line of its dash. */
function inItem(item: unknown, indent: string): string {
  const text = block(item, indent);
  return text.startsWith(`\n${indent}`) ? ` ${text.slice(1 + indent.length)}` : text;
}

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  return PLAIN.test(value) && !OTHER_MEANING.test(value) ? value : JSON.stringify(value);
}
