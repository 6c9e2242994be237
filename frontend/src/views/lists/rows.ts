/** What rows of each list are called, and where they lead. */
import type { ListName } from "../../api/client";
import type { Row } from "../../data/listed.svelte";
import { attemptHref, podHref } from "../pod/view";

interface Rows {
  readonly key: (row: Row) => string;
  readonly href: (clusterId: number, row: Row) => string;
  /** The column whose cell is the link. */
  readonly link: string;
}

const podKey = ({ namespace, name }: Row): string => `${namespace}/${name}`;

export const ROWS: Readonly<Record<ListName, Rows>> = {
  pods: { key: ({ uid }) => String(uid), href: (id, row) => podHref(id, podKey(row)), link: "name" },
  attempts: {
    key: ({ seq }) => String(seq),
    href: (id, row) => attemptHref(id, podKey(row), Number(row.attempt), Number(row.seq)),
    link: "name",
  },
};

export const isListName = (name: string): name is ListName => Object.hasOwn(ROWS, name);
