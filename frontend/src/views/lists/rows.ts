/** What rows of each list are called, and where they lead. */
import type { ListName } from "../../api/client";
import type { Row } from "../../data/listed.svelte";
import type { State } from "../../live/state";
import { decisionHref } from "../decision/view";
import { nodeHref } from "../node/view";
import { objectHref } from "../objects";
import { podHref } from "../pod/view";

interface Rows {
  readonly key: (row: Row) => string;
  /** Undefined: the object has no view. */
  readonly href: (live: State, row: Row) => string | undefined;
}

/** The column whose cell is the link. */
export const LINK = "name";

const keyOf = ({ namespace, name }: Row): string => (namespace ? `${namespace}/${name}` : String(name));

const attempts: Rows = {
  key: ({ seq }) => String(seq),
  href: (live, row) => decisionHref(live.cluster.id, Number(row.seq)),
};
const ofObject = (live: State, row: Row): string | undefined =>
  objectHref(live, String(row.kind), keyOf(row)) ?? undefined;

export const ROWS: Readonly<Record<ListName, Rows>> = {
  pods: { key: ({ uid }) => String(uid), href: (live, row) => podHref(live.cluster.id, keyOf(row)) },
  attempts,
  preemptions: attempts,
  nodes: { key: ({ uid }) => String(uid), href: (live, row) => nodeHref(live.cluster.id, keyOf(row)) },
  workloads: { key: ({ uid }) => String(uid), href: ofObject },
  events: { key: ({ id }) => String(id), href: ofObject },
  changes: { key: ({ rv }) => String(rv), href: ofObject },
};

export const LISTS = Object.keys(ROWS) as readonly ListName[];

export const isListName = (name: string): name is ListName => Object.hasOwn(ROWS, name);
