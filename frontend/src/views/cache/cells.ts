/** What stands in the rows of the cache's tables. */
import type { CacheNode, CachePod } from "../../contract/api.gen";
import { i18n, t } from "../../i18n/index.svelte";
import { decisionHref } from "../decision/view";
import { nodeHref } from "../node/view";
import { podHref } from "../pod/view";

/** `tone`: it is a badge of that colour; `href`: it leads there. */
export interface Cell {
  readonly text: string;
  readonly href?: string;
  readonly tone?: string;
  readonly isNumber?: boolean;
}

export interface Line {
  readonly key: string;
  readonly cells: readonly Cell[]; // one for each column; the first is a link
}

export const POD_COLUMNS = ["pod", "stage", "node", "assumed", "attempt", "confirmed", "waits"] as const;
export const NODE_COLUMNS = ["node", "took", "since", "cache", "snapshot", "pods", "assumedPods"] as const;
export const NUMBERS: readonly string[] = ["attempt", "cache", "snapshot", "pods", "assumedPods"];

const NONE = "–";
const STAGE_TONES = { permit: "warn", preBind: "warn", binding: "cool", bound: "cool", confirmed: "good" } as const;

export function podLine(pod: CachePod, clusterId: number): Line {
  return {
    key: pod.uid,
    cells: [
      { text: pod.key, href: podHref(clusterId, pod.key) },
      { text: t(`cache.stage.${pod.stage}`), tone: STAGE_TONES[pod.stage] },
      { text: pod.node, href: nodeHref(clusterId, pod.node) },
      { text: timeOf(pod.assumed_at) },
      {
        ...numberOf(pod.attempt),
        ...(pod.attempt_seq === null ? {} : { href: decisionHref(clusterId, pod.attempt_seq) }),
      },
      { text: timeOf(pod.confirmed_at) },
      { text: waitsOf(pod) },
    ],
  };
}

export function nodeLine(node: CacheNode, clusterId: number): Line {
  return {
    key: node.name,
    cells: [
      { text: node.name, href: nodeHref(clusterId, node.name) },
      tookOf(node),
      sinceOf(node),
      numberOf(node.generation),
      numberOf(node.snapshot_generation),
      numberOf(node.pods),
      numberOf(node.assumed),
    ],
  };
}

/** What the last update of the snapshot did with it. */
function tookOf({ changed, snapshot_generation }: CacheNode): Cell {
  if (snapshot_generation === null) return { text: t("cache.took.absent") };
  if (changed === null) return { text: NONE };
  return changed ? { text: t("cache.took.changed"), tone: "cool" } : { text: t("cache.took.same") };
}

/** What has happened to it since then. */
function sinceOf({ is_ghost, generation, snapshot_generation }: CacheNode): Cell {
  if (is_ghost) return { text: t("cache.since.ghost"), tone: "warn" };
  if (generation === null) return { text: t("cache.since.gone"), tone: "warn" };
  return { text: generation === snapshot_generation ? NONE : t("cache.since.changed") };
}

function waitsOf({ stage, awaits, until }: CachePod): string {
  const what = awaits.join(", ") || (stage === "binding" || stage === "bound" ? t(`cache.waits.${stage}`) : "");
  if (!what) return NONE;
  return until === null ? what : t("cache.until", { what, time: timeOf(until) });
}

function numberOf(value: number | null): Cell {
  return { text: value === null ? NONE : i18n.number(value), isNumber: true };
}

function timeOf(moment: string | null): string {
  return moment === null ? NONE : i18n.moment(Date.parse(moment));
}
