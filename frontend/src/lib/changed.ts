/** What changed between two attempts at a pod, in sentences. */
import type { AttemptChanged, ChangedNode, ChangingEntry, Status } from "../contract/api.gen";
import { i18n, type TextKey, t } from "../i18n/index.svelte";
import { type Sentence, sentence } from "./amounts";

/** Address of an entry of the change log. */
export type EntryLink = (entry: ChangingEntry) => string;

/** Why nodes changed verdict that no entry turned, in this order. */
export const OTHERWISE = {
  configuration: "changed.configuration",
  assumed: "changed.assumed",
  late: "changed.late",
  unproven: "changed.unproven",
} as const satisfies Record<Exclude<ChangedNode["by"], "entry">, TextKey>;

const OPERATIONS: Readonly<Record<string, TextKey>> = {
  created: "changed.created",
  updated: "changed.updated",
  deleted: "changed.deleted",
};

export const headText = (told: AttemptChanged): Sentence =>
  sentence(told.changed ? "changed.head" : "changed.none", {
    changed: told.changed,
    nodes: told.nodes,
    since: told.since_number,
    number: told.number,
    first: String(told.since_rv),
    last: String(told.rv),
  });

/** An entry with the number of nodes it turned. */
export function entryText(entry: ChangingEntry, link: EntryLink): Sentence {
  const name = entry.namespace ? `${entry.namespace}/${entry.name}` : entry.name;
  const subject = entry.kind === "Node" ? { node: name } : entry.kind === "Pod" ? { pod: name } : name;
  return sentence(OPERATIONS[entry.operation] ?? "changed.updated", {
    kind: entry.kind,
    name: subject,
    actor: entry.actor,
    time: i18n.moment(Date.parse(entry.at)),
    rv: { text: String(entry.rv), href: link(entry) },
    nodes: entry.nodes,
  });
}

/** What a node was and what it is. */
export const turnedText = (row: ChangedNode): Sentence =>
  sentence("changed.turned", {
    node: { node: row.node },
    before: word(row.before, row.was_there),
    after: word(row.after, row.is_there),
  });

function word(status: Status | null, isThere: boolean): string {
  if (!isThere) return t("changed.absent");
  if (!status) return t("changed.fits");
  return [status.plugin, status.reasons.join(", ")].filter(Boolean).join(": ");
}
